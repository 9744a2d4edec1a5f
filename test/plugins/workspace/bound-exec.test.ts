// long: starts many programs
/** Only the contents that a person or an allowlist entry allowed run; other contents are a new question. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { AllowedProgram } from "@svc/sdk/approvals";
import { textOf } from "@svc/sdk/models";
import { bindFiles } from "@svc/kit/exec";
import { directory } from "../../directory.ts";
import { privateCopies } from "../../../plugins/workspace/exec/copies.ts";
import { FileHolds, HOLD_MS } from "../../../plugins/workspace/files/file-holds.ts";
import { createFakeClock } from "@svc/sdk/testing";
import { holdStart } from "../../../plugins/workspace/exec/held.ts";
import { ASK_ALL, listed, openScene, person } from "./scene.ts";

const posix = { timeout: 30_000, skip: process.platform === "win32" && "there is no /bin/sh" };

type Scene = Awaited<ReturnType<typeof openScene>>;

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const real = (program: string) => realpathSync(`/usr/bin/${program}`);
const has = (program: string) => existsSync(`/usr/bin/${program}`);

async function script(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o755);
}

const changed = { code: "FORBIDDEN", message: /changed since the command was judged.* Next: run the command again/ };

describe("a file that another session writes while a question is pending", posix, () => {
  const ways: [command: string, file: string, skip?: boolean][] = [
    ["./once.sh", "once.sh"],
    ["sh ./once.sh arg", "once.sh"],
    ["dash once.sh", "once.sh", !has("dash")],
    ["sh -c './once.sh'", "once.sh"],
    ["sh -c \"./on'ce'.sh\"", "once.sh"],
    ["cd sub && ./once.sh", "sub/once.sh"],
    ["timeout 5 ./once.sh", "once.sh"],
    ["perl once.sh", "once.sh", !has("perl")],
    ["node once.js", "once.js"],
    ["node --require=./once.js -e 0", "once.js"],
    ["cat once.sh > /dev/null; sh < once.sh", "once.sh"],
    ["X=1 ./once.sh", "once.sh"],
    ["sh ./on*.sh", "once.sh"],
    ["cd sub; ./onc[a-f].s?", "sub/once.sh"],
    ['sh "$PWD"/once.sh', "once.sh"],
    ["make -n", "Makefile", !has("make")],
    ["cd sub && npm test", "sub/package.json"],
    ["./outer.sh", "once.sh"],
    ["node outer.js", "once.js"],
  ];
  for (const policy of [ASK_ALL, listed("on-miss")]) {
    for (const [command, file, skip = false] of ways) {
      const rules = policy === ASK_ALL ? "ask always" : "on-miss";
      it(`does not run: ${command} (${rules})`, { skip }, async (t) => {
        const { ask, questions, hands } = person();
        const scene = await openScene(t, { policy, ask });
        await mkdir(join(scene.root, "sub"));
        await script(join(scene.root, "outer.sh"), '#!/bin/sh\n. "$(dirname "$0")/once.sh"\n');
        await script(join(scene.root, "outer.js"), 'require("./once");\n');
        const path = join(scene.root, file);
        await script(path, "#!/bin/sh\n");
        if (file.endsWith(".js")) await writeFile(path, "// nothing\n");
        if (!/\.(sh|js)$/.test(file)) await writeFile(path, "{}");
        hands.meanwhile = () =>
          scene.use("write", { path: file, content: "touch ran\n" }, { sessionKey: "agent:main:b" });
        await assert.rejects(scene.use("exec", { command }), changed);
        assert.ok(questions[0]?.files?.some((one) => one.path === path));
        assert.deepEqual(await readdir(join(scene.stateDir, "exec-copies")).catch(() => []), []);
      });
    }
  }
});

describe("a start that is held", posix, () => {
  const ways: [what: string, argv: string[], file: string][] = [
    ["a script of a shell", ["sh", "x.sh"], "/bin/sh"],
    ["a script of another language", ["node", "x.sh"], process.execPath],
  ];
  for (const [what, argv, program] of ways)
    it(`is checked last: ${what} that changed while a sandbox was made ready`, async (t) => {
      const root = directory(t);
      await script(join(root, "x.sh"), "true\n");
      const run = { file: program, argv, cwd: root, path: "/usr/bin:/bin" };
      const holds = new FileHolds(createFakeClock());
      const sources = { copies: privateCopies(() => join(root, "state")), reach: [root], holds };
      const start = await holdStart(run, await bindFiles(run), sources);
      await start.check();
      await script(join(root, "x.sh"), "touch ran\n");
      await assert.rejects(start.check(), changed);
      await start.release();
      assert.deepEqual(await readdir(join(root, "state", "exec-copies")).catch(() => []), []);
    });
});

describe("files of a command that starts", posix, () => {
  const FILES = ["/w/x.py"];

  it("are written only after it has ended", async () => {
    const holds = new FileHolds(createFakeClock());
    const done: string[] = [];
    const letGo = await holds.hold(FILES);
    const [same, other] = [["x.py"], ["other.py"]].map((names) =>
      holds.write("/w", names, async () => void done.push(String(names))),
    );
    await other;
    assert.deepEqual(done, ["other.py"]);
    letGo();
    await same;
    assert.deepEqual(done, ["other.py", "x.py"]);
    await holds.write("/w", ["x.py"], async () => void done.push("again"));
    assert.equal(done.at(-1), "again");
  });

  it("are written after 10 seconds, for a program that runs on", async () => {
    const clock = createFakeClock();
    const holds = new FileHolds(clock);
    await holds.hold(FILES);
    let isDone = false;
    const written = holds.write("/w", ["x.py"], async () => void (isDone = true));
    await clock.advance(HOLD_MS - 1);
    assert.equal(isDone, false);
    await clock.advance(1);
    await written;
  });

  it("are compared after a write in progress has ended, even a failed one", async () => {
    const holds = new FileHolds(createFakeClock());
    for (const ends of [async () => "written", () => Promise.reject(new Error("disk full"))]) {
      let finish = () => {};
      const gate = new Promise<void>((resolve) => (finish = resolve));
      const written = holds.write("/w", ["X.py"], () => gate.then(ends)).catch(() => undefined);
      let isHeld = false;
      const held = holds.hold(FILES).then((letGo) => ((isHeld = true), letGo()));
      await new Promise(setImmediate);
      assert.equal(isHeld, false);
      finish();
      await Promise.all([written, held]);
    }
  });

  it("stay unchanged while a script of an interpreter runs, whatever another session writes", async (t) => {
    const { ask } = person();
    const scene = await openScene(t, { policy: ASK_ALL, ask });
    const text = `const fs = require("fs");
fs.writeFileSync("began", "");
setTimeout(() => console.log(fs.readFileSync(__filename, "utf8").length), 300);`;
    await writeFile(join(scene.root, "x.js"), text);
    const ran = scene.say("exec", { command: "node x.js" });
    while (!existsSync(join(scene.root, "began"))) await new Promise(setImmediate);
    await scene.use("write", { path: "x.js", content: "1" }, { sessionKey: "agent:main:b" });
    assert.equal(await readFile(join(scene.root, "x.js"), "utf8"), "1");
    assert.match(await ran, new RegExp(`^${text.length}\\n`));
  });
});

describe("a command that needs an approval because of external content", posix, () => {
  it("binds its files even if the policy allows every command", async (t) => {
    const { ask, questions, hands } = person();
    const scene = await openScene(t, { ask });
    const path = join(scene.root, "x.sh");
    await script(path, "#!/bin/sh\necho one\n");
    const because = "words of somebody else";
    assert.match(textOf(await scene.use("exec", { command: "./x.sh" }, { because })), /^one\n/);
    hands.meanwhile = () => writeFile(path, "touch ran");
    await assert.rejects(scene.use("exec", { command: "./x.sh" }, { because }), changed);
    assert.deepEqual(
      questions.map((question) => [question.because, question.files?.map((file) => [file.path, file.runs])]),
      [1, 2].map(() => [because, [[path, true]]]),
    );
    await scene.use("exec", { command: "true" });
    assert.equal(questions.length, 2);
  });
});

describe("a question that nobody answers", posix, () => {
  it("applies the allowlist entry only to the contents of the question", async (t) => {
    const { ask, hands } = person(null);
    const scene = await openScene(t, { ask });
    const [path, text] = [join(scene.root, "x.sh"), "#!/bin/sh\necho one\n"];
    await script(path, text);
    const entry = { pattern: path, args: [], sha256: sha256(text) };
    const rules = { security: "allowlist", ask: "always", askFallback: "allowlist" };
    scene.state.policy = { version: 1, agents: { main: { ...rules, allowlist: [entry] } } };
    assert.match(await scene.say("exec", { command: "./x.sh" }), /^one\n/);
    hands.meanwhile = () => writeFile(path, "touch ran");
    await assert.rejects(scene.use("exec", { command: "./x.sh" }), changed);
    await assert.rejects(scene.use("exec", { command: "./x.sh" }), {
      code: "FORBIDDEN",
      message: /nobody approved it/,
    });
    await script(path, text);
    hands.meanwhile = () => (scene.state.policy = listed("on-miss", { ...entry, sha256: sha256("other") }));
    await assert.rejects(scene.use("exec", { command: "./x.sh" }), {
      code: "FORBIDDEN",
      message: /nobody approved it/,
    });
  });
});

describe("an entry of the allowlist", posix, () => {
  const text = "#!/bin/sh\necho ran $1\n";
  const any = { anyArguments: true };
  const words = (...args: string[]) => ({ args });
  const scripts: [what: string, pattern: (scene: Scene) => string, how: Partial<AllowedProgram>, command: string][] = [
    ["a script of the workspace", ({ root }) => join(root, "x.sh"), any, "./x.sh 1"],
    ["a script of the workspace, exactly", ({ root }) => join(root, "x.sh"), words("1"), "./x.sh 1"],
    ["a pattern of the workspace", ({ root }) => `${root}/**`, any, "./x.sh 1"],
    ["a shell", () => real("sh"), words("x.sh", "1"), "sh x.sh 1"],
    ["a shell, called by its path", () => real("sh"), words("./x.sh", "1"), `${real("sh")} ./x.sh 1`],
  ];
  for (const [what, pattern, how, command] of scripts) {
    it(`for ${what} says nothing about a script agents can write, unless it binds its content`, async (t) => {
      const scene = await openScene(t);
      await script(join(scene.root, "x.sh"), text);
      const rule = (hash?: string) => {
        const entry = { pattern: pattern(scene), ...how, ...(hash !== undefined && { sha256: hash }) };
        scene.state.policy = listed("off", entry);
      };
      const add = `svc approvals allowlist add \\S+ --sha256 ${sha256(text)} --agent main -- .*1$`;
      const message = new RegExp(`agents can write .*x\\.sh.* Next: .*${add}`);
      rule();
      await assert.rejects(scene.use("exec", { command }), { code: "FORBIDDEN", message });
      rule(sha256("other"));
      await assert.rejects(scene.use("exec", { command }), { code: "FORBIDDEN", message });
      rule(sha256(text).toUpperCase());
      assert.match(await scene.say("exec", { command }), /^ran 1\n/);
      await scene.use("write", { path: "x.sh", content: "touch ran\n" });
      await assert.rejects(scene.use("exec", { command }), { code: "FORBIDDEN" });
    });
  }

  it("for a wrapper holds for what agents can write only with its hash, wherever that lies", async (t) => {
    const [outside, scene] = [directory(t), await openScene(t)];
    await script(join(outside, "x.sh"), text);
    const at = join(outside, "x.sh");
    const entry = { pattern: real("env"), args: [at, "1"] };
    scene.state.policy = listed("off", entry);
    const message = /agents can write .* Next: .* --sha256 \w{64} --agent main -- /;
    await assert.rejects(scene.use("exec", { command: `env ${at} 1` }), { code: "FORBIDDEN", message });
    scene.state.policy = listed("off", { ...entry, sha256: sha256(text) });
    assert.match(await scene.say("exec", { command: `env ${at} 1` }), /^ran 1\n/);
    await script(at, "touch ran");
    await assert.rejects(scene.use("exec", { command: `env ${at} 1` }), { code: "FORBIDDEN", message });
  });

  const noMake = !has("make") && "there is no make";
  it("for a program that runs a file without being told holds with its hash", { skip: noMake }, async (t) => {
    const make = real("make");
    const scene = await openScene(t, { policy: listed("off", { pattern: make, args: [] }) });
    const makefile = "all:\n\t@echo made\n";
    await writeFile(join(scene.root, "Makefile"), makefile);
    await assert.rejects(scene.use("exec", { command: "make" }), { code: "FORBIDDEN", message: /Makefile/ });
    scene.state.policy = listed("off", { pattern: make, args: [], sha256: sha256(makefile) });
    assert.match(await scene.say("exec", { command: "make" }), /^made\n/);
  });

  const hidden: [command: string, text: string][] = [
    ["sh -e x.sh", "echo"],
    ["bash --rcfile good.sh x.sh", "echo"],
    ["sh missing.sh", "echo"],
    ["sh x.sh", ". ./other.sh"],
    ["node -r ./x.js good.js", ""],
    ["node --experimental-default-type=module good.js", ""],
  ];
  for (const [command, content] of hidden) {
    it(`never suffices for ${command}${content === "" ? "" : ` with ${content}`}`, async (t) => {
      const scene = await openScene(t);
      for (const name of ["x.sh", "x.js", "good.sh", "good.js", "other.sh"]) {
        await writeFile(join(scene.root, name), content);
      }
      const [program = "", ...args] = command.split(" ");
      const [pattern, hash] = [real(program), sha256(content)];
      const ways = [{}, { anyArguments: true }, { args }].map((how) => ({ pattern, ...how }));
      scene.state.policy = listed("off", ...ways, ...ways.map((entry) => ({ ...entry, sha256: hash })));
      await assert.rejects(scene.use("exec", { command }), { code: "FORBIDDEN" });
    });
  }

  it("for a program of the system reads what agents write", async (t) => {
    const scene = await openScene(t, { policy: listed("off", { pattern: real("head") }) });
    await script(join(scene.root, "x.sh"), text);
    assert.match(await scene.say("exec", { command: "head -n 1 x.sh" }), /^#!\/bin\/sh\n/);
  });
});

describe("what runs when it was allowed", posix, () => {
  const run = async (t: Parameters<typeof openScene>[0], files: Record<string, string>, command: string) => {
    const { ask } = person();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    for (const [name, text] of Object.entries(files)) await script(join(scene.root, name), text);
    const said = await scene.say("exec", { command });
    assert.deepEqual(await readdir(join(scene.stateDir, "exec-copies")).catch(() => []), []);
    return { said: said.replace(/\[exit code (\d+) .*\]/, "[$1]"), root: scene.root };
  };

  const shells: [command: string, firstLine: string, zero: (root: string) => string][] = [
    ["./x.sh 'a b' c", "#!/bin/sh", (root) => `${root}/x.sh`],
    ["./x.sh 'a b' c", "#!/bin/sh -eu", (root) => `${root}/x.sh`],
    ["./x.sh 'a b' c", "#!/usr/bin/env bash", (root) => `${root}/x.sh`],
    ["sh ./x.sh 'a b' c", "#!/bin/sh", () => "./x.sh"],
    ["bash x.sh 'a b' c", "", () => "x.sh"],
    ["sh -c './x.sh \"a b\" c'", "#!/bin/sh", () => "./x.sh"],
  ];
  for (const [command, firstLine, zero] of shells) {
    it(`is the script, with its name, arguments, exit code and neighbours: ${command} with ${firstLine}`, async (t) => {
      const text = `${firstLine}\nfor one; do echo "$one"; done; echo "$0"; . "$(dirname "$0")/lib.sh"; exit 3\n`;
      const { said, root } = await run(t, { "x.sh": text, "lib.sh": "echo lib" }, command);
      assert.equal(said, `a b\nc\n${zero(root)}\nlib\n[3]`);
    });
  }

  it("is a script that asks for its own file, where it lies", async (t) => {
    const text = '#!/bin/bash\n[ "$BASH_SOURCE" = "$0" ] && echo "$BASH_SOURCE"\n';
    const { said, root } = await run(t, { "x.sh": text }, "./x.sh");
    assert.equal(said, `${root}/x.sh\n[0]`);
  });

  it("is a module with what lies beside it", async (t) => {
    const files = {
      "x.js": '#!/usr/bin/env node\nconsole.log(require("./lib").said, __dirname);',
      "lib.js": "exports.said = 1",
    };
    for (const command of ["./x.js", "node x.js"]) {
      const { said, root } = await run(t, files, command);
      assert.equal(said, `1 ${root}\n[0]`);
    }
  });

  it("is a program of the workspace, by a copy of its bytes", async (t) => {
    const { ask, questions } = person();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    await copyFile(real("sleep"), join(scene.root, "tool"));
    const { sessionId } = await scene.details("exec", { command: "./tool 60", background: true });
    const [copies] = await readdir(join(scene.stateDir, "exec-copies"));
    assert.deepEqual(await readdir(join(scene.stateDir, "exec-copies", copies ?? "")), ["tool"]);
    await scene.use("process", { action: "kill", sessionId });
    while ((await readdir(join(scene.stateDir, "exec-copies"))).length > 0) await new Promise(setImmediate);
    assert.deepEqual(
      questions[0]?.files?.map(({ runs }) => runs),
      [true],
    );
  });

  it("is not affected by writes to the script while it runs", async (t) => {
    const { ask } = person();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    // The shell reads on only when it gets there; the same file grows under it.
    await script(join(scene.root, "x.sh"), "#!/bin/bash\nread line\necho over\n");
    const { sessionId } = await scene.details("exec", { command: "./x.sh", background: true });
    await writeFile(join(scene.root, "x.sh"), "#!/bin/bash\nread line\ntouch ran; echo evil\n");
    await scene.use("process", { action: "write", sessionId, data: "go\n", eof: true });
    for (let status: unknown; status !== "ended";) {
      ({ status } = await scene.details("process", { action: "poll", sessionId, timeout: 10 }));
    }
    assert.match(await scene.say("process", { action: "log", sessionId }), /^over\n/);
  });
});

describe("a command whose files are swapped while a question is pending", posix, () => {
  const touched = (name: string) => (root: string) => script(join(root, name), "touch ran");
  const relink = async (root: string) => {
    await rm(join(root, "link.sh"));
    await symlink("b.sh", join(root, "link.sh"));
  };
  const pipe = async (root: string) => {
    await rm(join(root, "a.sh"));
    execFileSync("mkfifo", [join(root, "a.sh")]);
  };
  const moveDirectory = async (root: string) => {
    await rename(join(root, "sub2"), join(root, "sub/inner"));
    await script(join(root, "sub/x.sh"), "touch ran");
  };
  const swaps: [what: string, command: string, swap: (root: string) => Promise<unknown>, message: RegExp][] = [
    ["a symbolic link", "sh link.sh", relink, /did not exist|changed/],
    ["a link of the program", "./link.sh", relink, /changed/],
    ["the same inode by another name", "./a.sh", touched("hard.sh"), /changed/],
    ["a directory on the way", "sh sub/x.sh", moveDirectory, /changed|there/],
    ["a file that goes", "sh a.sh", (root) => rm(join(root, "a.sh")), /removed|changed/],
    ["a file that comes", "sh -c './new.sh || true'", touched("new.sh"), /did not exist/],
    ["a module that comes", "node m.js", touched("lib.js"), /did not exist/],
    ["a pipe in its place", "sh a.sh", pipe, /removed|changed/],
    ["a file that grows", "sh -c 'cat big.txt'", (root) => truncate(join(root, "big.txt"), 2 ** 40), /exceeds/],
  ];
  for (const [what, command, swap, message] of swaps) {
    it(`does not run: ${what}`, async (t) => {
      const { ask, hands } = person();
      const scene = await openScene(t, { policy: listed("on-miss"), ask });
      const { root } = scene;
      await Promise.all(["sub", "sub2"].map((name) => mkdir(join(root, name))));
      for (const name of ["a.sh", "b.sh", "sub/x.sh", "sub2/x.sh"]) await script(join(root, name), `echo ${name}\n`);
      await symlink("a.sh", join(root, "link.sh"));
      await link(join(root, "a.sh"), join(root, "hard.sh"));
      await writeFile(join(root, "m.js"), 'try { require("./lib") } catch {}');
      await writeFile(join(root, "big.txt"), "");
      hands.meanwhile = () => swap(root);
      await assert.rejects(scene.use("exec", { command }), (error: Error & { code?: string }) => {
        assert.ok(error.code === "FORBIDDEN" || error.code === "UNAVAILABLE", error.message);
        assert.match(error.message, message);
        return true;
      });
      assert.ok(!(await readdir(root)).includes("ran"));
    });
  }

  it("is refused without a question with a file that is too large, or too many files", async (t) => {
    const { ask, questions } = person();
    const { root, use } = await openScene(t, { policy: ASK_ALL, ask });
    const refusal = (message: RegExp) => ({ code: "FORBIDDEN", message });
    const names = Array.from({ length: 70 }, (_, index) => `f${index}`);
    for (const name of [...names, "big.txt"]) await writeFile(join(root, name), "");
    await assert.rejects(use("exec", { command: `cat ${names.join(" ")}` }), refusal(/more than 64 files/));
    await truncate(join(root, "big.txt"), 2 ** 40);
    await assert.rejects(use("exec", { command: "cat big.txt" }), refusal(/big\.txt.* cannot be bound: it exceeds/));
    assert.equal(questions.length, 0);
  });

  it("does not wait for a pipe", async (t) => {
    const { ask, questions } = person();
    const scene = await openScene(t, { policy: ASK_ALL, ask });
    execFileSync("mkfifo", [join(scene.root, "pipe")]);
    assert.match(await scene.say("exec", { command: "[ -p pipe ] && echo pipe" }), /^pipe\n/);
    assert.equal(questions[0]?.files, undefined);
  });

  it("is judged with a program of 10 MB, too", async (t) => {
    const { ask, questions } = person();
    const scene = await openScene(t, { policy: listed("on-miss"), ask });
    await copyFile(real("true"), join(scene.root, "large"));
    await truncate(join(scene.root, "large"), 10_000_000);
    await chmod(join(scene.root, "large"), 0o755);
    assert.match(await scene.say("exec", { command: "./large" }), /^\[exit code 0/);
    assert.equal(questions[0]?.files?.[0]?.bytes, 10_000_000);
  });

  it("reads no contents if the policy allows every command", async (t) => {
    const scene = await openScene(t);
    await writeFile(join(scene.root, "big.txt"), "");
    await truncate(join(scene.root, "big.txt"), 2 ** 40);
    assert.match(await scene.say("exec", { command: "head -c 1 big.txt | wc -c" }), /^1\n/);
  });
});
