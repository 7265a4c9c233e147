// SPDX-License-Identifier: BSL-1.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;

/** Answers the questions of ../check.py. */
final class Main {
    public static void main(String[] arguments) {
        new BufferedReader(new InputStreamReader(System.in)).lines().map(line -> line.split(" ")).forEach(words -> {
            byte[] bytes = HexFormat.of().parseHex(words[1].substring(1));
            int count = Integer.parseInt(words[2]);
            System.out.println(words[0].equals("bucket")
                    ? Placement.bucketOf(bytes, count, Long.parseUnsignedLong(words[3]))
                    : Placement.slotOf(bytes, count));
        });
    }
}
