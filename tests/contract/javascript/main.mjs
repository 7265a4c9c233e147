// SPDX-License-Identifier: BSL-1.0
// Answers the questions of ../check.py.
import { readFileSync } from "node:fs";
import { bucketOf, slotOf, windowOf } from "./placement.mjs";

const answers = [];
for (const line of readFileSync(0, "utf8").trimEnd().split("\n")) {
  const [what, hex, count, seed] = line.split(" ");
  if (what === "window") {
    answers.push(windowOf(Number(count), Number(seed)));
    continue;
  }
  const bytes = Buffer.from(hex.slice(1), "hex");
  answers.push(
    what === "bucket" ? await bucketOf(bytes, Number(count), BigInt(seed)) : await slotOf(bytes, Number(count)),
  );
}
console.log(answers.join("\n"));
