/** Which files belong to a command, and which of them agents can write. */
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type Binding,
  bindFiles,
  bindingFault,
  type ExecRules,
  judgeExec,
  MAX_BOUND_FILES,
  readContent,
} from "@svc/kit/exec";
import type { AllowedProgram } from "@svc/sdk/approvals";
import * as fc from "fast-check";
import { possibleNames, shebangOf } from "../../../../sdk/kit/exec/named-files.ts";
import { agentsCanWrite } from "../../../../sdk/kit/exec/writable-file.ts";
import { directory, put as putFile } from "../../../directory.ts";

const posix = { skip: process.platform === "win32" && "paths of POSIX" };
const SH = process.platform === "win32" ? "" : realpathSync("/bin/sh");

describe("names in an argument", () => {
  const cases: [argument: string, names: string[]][] = [
    ["x.sh", ["x.sh"]],
    ["a file.sh", ["a file.sh"]],
    ["--config=conf/x.json", ["conf/x.json"]],
    ["-fx.mk", ["x.mk"]],
    ["if=disk.img", ["disk.img"]],
    ["@body.json", ["body.json"]],
    ["./a.sh; cat b && c|d>e", ["./a.sh", "b", "c", "d", "e"]],
    [". './a b.sh' \"c d.sh\" e\\ f.sh", ["./a b.sh", "c d.sh", "e f.sh"]],
    ["./x'.'sh", ["./x.sh"]],
    ['. "$(dirname "$0")/lib.sh"', ["/lib.sh"]],
    ['sh "$DIR/x.sh" "${A}"/y.sh $(pwd)/z.sh', ["x.sh", "y.sh", "z.sh"]],
    ["exec(open('x.py').read())", ["x.py"]],
  ];
  for (const [argument, names] of cases) {
    it(`of ${argument} are ${names.join(", ")}`, () => {
      const found = possibleNames(argument);
      for (const name of names) assert.ok(found.includes(name), `${name} in ${found.join(" | ")}`);
    });
  }

  it("are found in any text, and are no empty ones", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        for (const name of possibleNames(text)) assert.ok(name !== "" && !name.includes("\0"));
      }),
    );
  });

  it("of a word between any others are that word", () => {
    const boundary = fc.constantFrom(" ", ";", "|", "\n", "(", "'", '"', "<", "&&", "`", "=");
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z./]{1,9}$/), boundary, boundary, (word, before, after) =>
        assert.ok(possibleNames(`x ${before}${word}${after} y`).includes(word)),
      ),
    );
  });

  it("in any text are found in time that grows with it", () => {
    for (const part of ["$(", "${", "'", '"', "\\", "$a", "a ", "/b ", "$(a)/"]) {
      assert.ok(possibleNames(part.repeat(262_144 / part.length)).length < 10, part);
    }
  });

  it("in a first line are an interpreter and its words", () => {
    assert.deepEqual(shebangOf("#!/bin/sh\nx"), { interpreter: "/bin/sh", words: [] });
    assert.deepEqual(shebangOf("#! /usr/bin/env -S a b\r\n"), { interpreter: "/usr/bin/env", words: ["-S", "a", "b"] });
    assert.equal(shebangOf("x\n#!/bin/sh"), undefined);
  });
});

describe("what agents can write", posix, () => {
  it("is everything but what root alone may write, all the way up", async (t) => {
    assert.equal(await agentsCanWrite(SH), false);
    assert.equal(await agentsCanWrite(SH, 1_000), false);
    const own = join(directory(t), "x");
    writeFileSync(own, "");
    assert.equal(await agentsCanWrite(own), true);
    assert.equal(await agentsCanWrite(SH, undefined), false, "the process has a user");
    await assert.rejects(agentsCanWrite("/usr/no/such/file"), { code: "ENOENT" });
  });

  it(
    "is what others may write, or own, although it lies among programs",
    { skip: process.getuid?.() !== 0 },
    async (t) => {
      const path = mkdtempSync("/usr/local/svc-bound-");
      t.after(() => rmSync(path, { recursive: true, force: true }));
      const file = join(path, "x");
      writeFileSync(file, "");
      const modes: [directoryMode: number, fileMode: number, owner: number, can: boolean][] = [
        [0o755, 0o755, 0, false],
        [0o755, 0o775, 0, true],
        [0o755, 0o757, 0, true],
        [0o775, 0o755, 0, true],
        [0o777, 0o755, 0, true],
        [0o1777, 0o755, 0, false],
        [0o1777, 0o755, 1_000, true],
        [0o755, 0o1757, 0, true],
        [0o755, 0o444, 1_000, true],
      ];
      for (const [directoryMode, fileMode, owner, can] of modes) {
        chmodSync(path, directoryMode);
        chownSync(file, owner, 0);
        chmodSync(file, fileMode);
        for (const uid of [0, 1_000])
          assert.equal(await agentsCanWrite(file, uid), can, `${directoryMode} ${fileMode}`);
      }
    },
  );
});

describe("the files of a command", posix, () => {
  /** Names below the directory; `!`: it is run. */
  const boundOf = async (cwd: string, argv: string[], file = SH, path = "/usr/bin:/bin") => {
    const { files, hidesScript } = await bindFiles({ file, argv, cwd, path });
    const names = files.map((one) => `${one.path.slice(cwd.length + 1)}${one.runs === true ? "!" : ""}`);
    return [...names.sort(), ...(hidesScript ? ["?"] : [])];
  };
  const put = (cwd: string, name: string, text = "", mode = 0o644) => {
    putFile(join(cwd, name), text, mode);
    return join(cwd, name);
  };

  it("are its script, what that loads, and what its arguments name", async (t) => {
    const cwd = directory(t);
    for (const name of ["x.sh", "lib.sh", "data.csv", "sub/y.sh", "other.sh"]) put(cwd, name);
    put(cwd, "x.sh", '. "$HERE/lib.sh"\n. sub/y.sh\ncat data.csv\n');
    assert.deepEqual(await boundOf(cwd, ["sh", "x.sh"]), ["lib.sh!", "sub/y.sh!", "x.sh!"]);
    assert.deepEqual(await boundOf(cwd, ["sh", "x.sh", "data.csv"]), ["data.csv", "lib.sh!", "sub/y.sh!", "x.sh!"]);
    assert.deepEqual(await boundOf(cwd, ["sh", "-c", "cd sub; ./y.sh"]), ["?", "sub/y.sh"].sort().reverse());
    assert.deepEqual(await boundOf(cwd, ["cat", "x.sh"], realpathSync("/bin/cat")), ["x.sh"], "reading loads nothing");
  });

  it("are modules that a script names without their ending", async (t) => {
    const cwd = directory(t);
    for (const name of ["helper.py", "pkg/part.py", "whole/__init__.py", "unused.py", "lib/a.js", "lib/b/index.js"])
      put(cwd, name);
    put(cwd, "x.py", "import helper, json, whole\nfrom pkg.part import y\n");
    put(cwd, "x.js", "const [a, b] = [require('./lib/a'), require('./lib/b')]");
    const python = put(cwd, "bin/python3", "\0", 0o755);
    const own = ["bin/python3!", "helper.py!", "pkg/part.py!", "whole/__init__.py!", "x.py!"];
    assert.deepEqual(await boundOf(cwd, ["python3", "x.py"], python), own);
    assert.deepEqual(await boundOf(cwd, ["node", "x.js"]), ["lib/a.js!", "lib/b/index.js!", "x.js!"]);
  });

  it("are interpreters of a script, and programs that a text names, where agents can write them", async (t) => {
    const cwd = directory(t);
    const mine = put(cwd, "bin/mine", "\0", 0o755);
    const script = put(cwd, "x", "#!/usr/bin/env mine\n", 0o755);
    const direct = put(cwd, "y", `#!${mine}\n`, 0o755);
    const path = `${join(cwd, "bin")}:/usr/bin`;
    assert.deepEqual(await boundOf(cwd, ["./x"], script, path), ["bin/mine!", "x!"]);
    assert.deepEqual(await boundOf(cwd, ["./y"], direct), ["bin/mine!", "y!"]);
    assert.deepEqual(await boundOf(cwd, ["sh", "-c", "mine --version"], SH, path), ["bin/mine", "?"]);
  });

  it("are what links lead to", async (t) => {
    const cwd = directory(t);
    put(cwd, "real.sh");
    symlinkSync("real.sh", join(cwd, "link.sh"));
    symlinkSync("link.sh", join(cwd, "loop.sh"));
    symlinkSync("self", join(cwd, "self"));
    assert.deepEqual(await boundOf(cwd, ["sh", "loop.sh", "self"]), ["real.sh!"]);
  });

  it("are no directories, no devices and nothing of the system", async (t) => {
    const cwd = directory(t);
    assert.deepEqual(
      await boundOf(cwd, ["cat", "/dev/zero", "/usr/bin", "/etc", SH, "."], realpathSync("/bin/cat")),
      [],
    );
  });

  it("are those that fit a pattern of a shell, and are code", async (t) => {
    const cwd = directory(t);
    for (const name of ["once.sh", "one.sh", "on.txt", "sub/once.sh"]) put(cwd, name);
    put(cwd, "only", "", 0o755);
    assert.deepEqual(await boundOf(cwd, ["sh", "-c", "./on*"]), ["once.sh", "one.sh", "only", "?"]);
    assert.deepEqual(await boundOf(cwd, ["sh", "-c", "s*/[n-o]nce.s?; sub/o?ce.sh"]), ["sub/once.sh", "?"]);
    put(cwd, "a".repeat(250), "", 0o755);
    assert.deepEqual(await boundOf(cwd, ["sh", "-c", `./${"*a".repeat(120)}b`]), ["?"]);
  });

  it("are not looked for in a command with endless words", async (t) => {
    const words = Array.from({ length: 2_001 }, (_, index) => `w${index}`).join(" ");
    for (const text of [words, "x".repeat(262_144)]) {
      const run = { file: SH, argv: ["sh", "-c", text], cwd: directory(t), path: "" };
      const { fault, hidesScript } = await bindFiles(run);
      assert.deepEqual(
        [fault, hidesScript],
        ["it has more than 2000 words or 262144 characters; put it into a file and run the file", true],
      );
    }
    const cwd = directory(t);
    put(cwd, "x.sh", Array.from({ length: 20_001 }, (_, index) => `/w${index}`).join(" "));
    const { fault } = await bindFiles({ file: SH, argv: ["sh", "x.sh"], cwd, path: "" });
    assert.match(fault ?? "", /its script names more than 20000 files/);
  });

  it("are at most so many", async (t) => {
    const cwd = directory(t);
    const names = Array.from({ length: MAX_BOUND_FILES + 1 }, (_, index) => `f${index}`);
    for (const name of names) put(cwd, name);
    const bind = (count: number) =>
      bindFiles({ file: SH, argv: ["sh", "-c", names.slice(0, count).join(" ")], cwd, path: "" });
    assert.equal((await bind(MAX_BOUND_FILES)).files.length, MAX_BOUND_FILES);
    const { files, fault } = await bind(MAX_BOUND_FILES + 1);
    assert.deepEqual(files, []);
    assert.match(fault ?? "", /more than 64 files/);
  });
});

describe("a content", posix, () => {
  it("is read from one handle up to its bound, and passed on as it is hashed", async (t) => {
    const path = join(directory(t), "x");
    writeFileSync(path, "x".repeat(700_000));
    const parts: Buffer[] = [];
    const content = await readContent(path, 700_000, async (chunk) => void parts.push(Buffer.from(chunk)));
    assert.ok(typeof content === "object");
    assert.deepEqual([content.bytes, content.head.length], [700_000, 128 * 1_024]);
    assert.equal(Buffer.concat(parts).length, 700_000);
    assert.equal(await readContent(path, 699_999), "too-large");
    assert.equal(await readContent(join(path, "y"), 1), "gone");
    assert.equal(await readContent("/", 1), "gone");
  });

  it("that grows while it is read is too large", async (t) => {
    const path = join(directory(t), "x");
    writeFileSync(path, "x".repeat(300_000));
    const grow = async () => writeFileSync(path, "x".repeat(10), { flag: "a" });
    assert.equal(await readContent(path, 300_000, grow), "too-large");
  });
});

describe("two bindings of one command", () => {
  const file = { path: "/x", sha256: "a", bytes: 1 };
  const base: Binding = { scope: "all", files: [file], hidesScript: false };
  const cases: [what: string, now: Partial<Binding>, fault: RegExp | undefined][] = [
    ["the same", {}, undefined],
    ["another content", { files: [{ ...file, sha256: "b" }] }, /"\/x" changed/],
    ["another role", { files: [{ ...file, runs: true }] }, /"\/x" changed/],
    ["one more", { files: [file, { ...file, path: "/y" }] }, /"\/y" did not exist/],
    ["one less", { files: [] }, /"\/x" was removed/],
    ["another script", { hidesScript: true }, /script changed/],
    ["none that can be bound", { files: [], fault: "too large" }, /^too large$/],
  ];
  for (const [what, now, fault] of cases) {
    it(`are ${fault ? "not the same" : "the same"}: ${what}`, () => {
      const said = bindingFault(base, { ...base, ...now });
      if (fault === undefined) assert.equal(said, undefined);
      else assert.match(said ?? "", fault);
    });
  }
});

describe("entries of an allowlist", () => {
  const plain = { pattern: "/p", anyArguments: true };
  const [one, two] = [
    { ...plain, sha256: "AA" },
    { ...plain, sha256: "bb" },
  ];
  const code = (sha256: string) => ({ path: `/${sha256}`, sha256, bytes: 1, runs: true as const });
  const data = { path: "/d", sha256: "bb", bytes: 1 };
  const plan = { argv: ["/p", "x"], cwd: "/", rawCommand: null, agentId: null, sessionKey: null };
  const cases: [what: string, binding: Partial<Binding>, holds: object[]][] = [
    ["nothing agents can write runs", {}, [plain]],
    ["nothing agents can write runs, and a file is named", { files: [data] }, [plain]],
    ["one file runs", { files: [code("aa")] }, [one]],
    ["one file runs, and a file is named", { files: [code("aa"), data] }, [one]],
    ["another file runs", { files: [code("cc")] }, []],
    ["two files run", { files: [code("aa"), code("bb")] }, []],
    ["the script is not known", { hidesScript: true }, []],
    ["the contents cannot be bound", { fault: "too large" }, []],
  ];
  for (const [what, binding, holds] of cases) {
    it(`that hold when ${what}: ${holds.length}`, () => {
      const contents: Binding = { scope: "all", files: [], hidesScript: false, ...binding };
      const held = [plain, one, two].filter(
        (entry) => judgeExec(rulesWith(entry), plan, "/p", { contents }).verdict === "allow",
      );
      assert.deepEqual(held, holds);
    });
  }

  it("with a hash do not match when the content was not verified", () => {
    const verdict = judgeExec(rulesWith(one), plan, "/p", {});
    assert.ok(verdict.verdict === "deny" && verdict.reason.includes("specific content that was not verified"));
  });
});

describe("an entry of the allowlist", () => {
  // What the entry says x what is called x what lies there: by the words of the entry and by the bytes, each for itself.
  const commands: [kind: string, file: string, argv: string[], runs: string][] = [
    ["a program of the workspace", "/w/tool", ["./tool", "1"], "/w/tool"],
    ["a program of an agent's user", "/home/u/tool", ["tool", "1"], "/home/u/tool"],
    ["a shell with a script", "/usr/bin/dash", ["dash", "x.sh", "1"], "/w/x.sh"],
    ["a shell by its other name", "/usr/bin/dash", ["sh", "x.sh", "1"], "/w/x.sh"],
    ["an interpreter with a script", "/usr/bin/python3.11", ["python3", "./x.py", "1"], "/w/x.py"],
    ["a shell of an agent's user with a script of the system", "/home/u/dash", ["dash", "/opt/x", "1"], "/home/u/dash"],
    ["a wrapper", "/usr/bin/nice", ["nice", "./tool"], "/w/tool"],
    ["a wrapper of the workspace", "/w/nice", ["nice", "./tool"], "/w/nice"],
    ["an interpreter with a command of its own", "/usr/bin/deno", ["deno", "run", "x.ts"], "/w/run"],
  ];
  const never = /wrapper|command of its own/;
  for (const [kind, file, argv, runs] of commands) {
    for (const words of ["exact", "other", "any", "none"] as const) {
      for (const hash of [undefined, "aa", "bb"]) {
        for (const now of ["aa", "cc", "none", "two", "unknown"]) {
          // Where agents can write nothing that would run, no hash is needed, and none fits.
          const isKept = hash === undefined && now === "none" && kind.includes("agent's user");
          const isHeld = isKept || (hash === "aa" && now === "aa" && !never.test(kind));
          const isWord = words === "exact" || (words === "any" && kind.startsWith("a program"));
          const isAllowed = isHeld && isWord;
          it(`of ${kind}, ${words} arguments, hash ${hash}, with ${now} there: ${isAllowed ? "holds" : "a miss"}`, () => {
            const args = words === "exact" ? argv.slice(1) : ["2"];
            const entry = {
              pattern: file,
              ...(words === "any" && { anyArguments: true }),
              ...(["exact", "other"].includes(words) && { args }),
              ...(hash !== undefined && { sha256: hash }),
            };
            const bound = { path: runs, sha256: now, bytes: 1, runs: true as const };
            const both = [bound, { ...bound, path: "/w/other", sha256: "aa" }];
            const files = { none: [], two: both }[now] ?? [bound];
            // A search never takes a command of its own for a script.
            const hidesScript = now === "unknown" || argv[1] === "run";
            const contents: Binding = { scope: "runs", files, hidesScript };
            const plan = { argv, cwd: "/w", rawCommand: null, agentId: null, sessionKey: null };
            const place = { root: "/w", isWorkspace: true, isElsewhere: true, contents };
            const { verdict } = judgeExec(rulesWith(entry), plan, file, place);
            assert.equal(verdict, isAllowed ? "allow" : "deny");
          });
        }
      }
    }
  }
});

function rulesWith(entry: AllowedProgram): ExecRules {
  return { security: "allowlist", ask: "off", askFallback: "deny", allowlist: [entry] };
}
