// SPDX-License-Identifier: BSL-1.0
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Answers the questions of ../check.py.
func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		bytes, err := hex.DecodeString(words[1][1:])
		if err != nil {
			panic(err)
		}
		count, err := strconv.ParseUint(words[2], 10, 32)
		if err != nil {
			panic(err)
		}
		if words[0] == "slot" {
			fmt.Println(slotOf(string(bytes), uint32(count)))
			continue
		}
		seed, err := strconv.ParseUint(words[3], 10, 64)
		if err != nil {
			panic(err)
		}
		fmt.Println(bucketOf(string(bytes), uint32(count), seed))
	}
}
