/** When and how a program or a script starts from a private copy. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startOfCopy } from "../../../plugins/workspace/exec/pinned-start.ts";

const COPY = "/state/exec-copies/run-1/it's x";
const SOURCE = `. '/state/exec-copies/run-1/it'\\''s x'`;

describe("a start from a private copy", () => {
  const program = (argv: string[]) => ({ file: "/w/x", argv });
  const by = (file: string, ...args: string[]) => ({ file, argv: [file, ...args] });
  const cases: [what: string, run: { file: string; argv: string[] }, head: string, start: object | undefined][] = [
    ["a program", program(["./x", "a"]), "\x7fELF\0", { file: COPY, argv: ["./x", "a"] }],
    ["a program with libraries beside it", program(["./x"]), "\x7fELF\0$ORIGIN/../lib", undefined],
    ["a program with frameworks beside it", program(["./x"]), "\xcf\xfa\0@loader_path/y", undefined],
    ["a script of sh", program(["./x", "a"]), "#!/bin/sh\n", by("/bin/sh", "-c", SOURCE, "/w/x", "a")],
    [
      "a script with options",
      program(["./x"]),
      "#! /bin/bash -eu\n",
      by("/bin/bash", "--norc", "-eu", "-c", SOURCE, "/w/x"),
    ],
    [
      "a script of env",
      program(["./x"]),
      "#!/usr/bin/env bash\n",
      by("/usr/bin/env", "bash", "--norc", "-c", SOURCE, "/w/x"),
    ],
    ["env with options", program(["./x"]), "#!/usr/bin/env -S bash -e\n", undefined],
    ["an option that takes a text", program(["./x"]), "#!/bin/sh -c\n", undefined],
    ["an option that reads the input", program(["./x"]), "#!/bin/sh -s\n", undefined],
    ["several options", program(["./x"]), "#!/bin/sh -e -u\n", undefined],
    ["another language", program(["./x"]), "#!/usr/bin/env python3\n", undefined],
    ["a shell that calls a script by its copy", program(["./x"]), "#!/bin/zsh\n", undefined],
    ["an interpreter without a directory", program(["./x"]), "#!sh\n", undefined],
    ["a script that asks for its file", program(["./x"]), "#!/bin/bash\necho $BASH_SOURCE\n", undefined],
    [
      "a shell with a script",
      { file: "/bin/dash", argv: ["sh", "x.sh", "-a"] },
      "echo",
      { file: "/bin/dash", argv: ["sh", "-c", SOURCE, "x.sh", "-a"] },
    ],
    ["a shell with a script that asks", { file: "/bin/bash", argv: ["bash", "x"] }, "${BASH_SOURCE[0]}", undefined],
  ];
  for (const [what, run, head, start] of cases) {
    it(`${start === undefined ? "is not made" : "is made"} for ${what}`, () => {
      assert.deepEqual(startOfCopy(run, COPY, head, true), start);
    });
  }

  it("is not made for a script of which only the beginning was read", () => {
    assert.equal(startOfCopy(program(["./x"]), COPY, "#!/bin/sh\n", false), undefined);
  });
});
