// long: starts many sandboxed programs
/** Commands in a real sandbox, and attempts to escape it. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findSandbox, sandboxArgv, sandboxMounts, type SandboxPlace, sandboxRules } from "@svc/kit/exec";
import type { Logger } from "@svc/sdk";
import { IDENTITY_FILES } from "@svc/sdk/agents";
import { commandText } from "@svc/sdk/cli";
import { withoutSandbox } from "../../bubblewrap.ts";
import { directory } from "../../directory.ts";
import { silentLog } from "../agents/silent-log.ts";
import { agentSubjects } from "../../../plugins/workspace/cli.ts";
import type { SandboxSettings } from "@svc/sdk/tools";
import { ASK_ALL, listed, openScene, person, type SceneOptions } from "./scene.ts";

const skip = await withoutSandbox();
const real = { skip, timeout: 60_000 };

const CANARY = "canary-7c1f";

/** A scene whose commands need the sandbox, with secrets around the workspace. */
async function confined(t: TestContext, settings: object = {}, options: SceneOptions = {}) {
  const scene = await openScene(t, { exec: { timeoutSec: 30, sandbox: { mode: "require", ...settings } }, ...options });
  await writeFile(join(scene.stateDir, "svc.db"), CANARY);
  await writeFile(join(scene.other, "secret"), CANARY);
  await mkdir(join(scene.home, ".ssh"));
  await writeFile(join(scene.home, ".ssh", "id"), CANARY);
  const sh = (command: string, more: object = {}) => scene.details("exec", { command, ...more });
  return { ...scene, sh };
}

/** A log, and what it warned of. */
function warnings() {
  const warned: string[] = [];
  const log: Logger = { ...silentLog, warn: (_fields: object, message: string) => void warned.push(message) };
  return { log, warned };
}

/** Processes of this machine whose command line has this text. */
async function running(words: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.includes(words)) found.push(pid);
  }
  return found;
}

/** Waits until none is left; limited by the suite's timeout. */
async function untilGone(words: string): Promise<void> {
  while ((await running(words)).length > 0) await sleep(10);
}

describe("a command in the sandbox", real, () => {
  it("works in the workspace, with the programs of the machine, and its own home and /tmp", async (t) => {
    const { root, sh } = await confined(t);
    await mkdir(join(root, "sub"));
    const { exitCode, output, sandboxed } = await sh(
      "pwd; echo made > made; echo x > $HOME/file && cat $HOME/file; mktemp > /dev/null && cat /etc/hosts > /dev/null && ls /usr/bin > /dev/null && node -p 6*7",
      { workdir: "sub", env: {} },
    );
    assert.deepEqual([exitCode, output, sandboxed], [0, `${join(root, "sub")}\nx\n42\n`, true]);
    assert.equal(await readFile(join(root, "sub", "made"), "utf8"), "made\n");
  });

  it("keeps its exit code, its input and its end in the background", async (t) => {
    const { sh, details } = await confined(t);
    assert.equal((await sh("exit 7"))["exitCode"], 7);
    const { sessionId, sandboxed } = await sh("read line; echo got $line; exit 3", { background: true });
    assert.equal(sandboxed, true);
    await details("process", { action: "write", sessionId, data: "word\n" });
    const seen: Record<string, unknown>[] = [];
    while (seen.at(-1)?.["status"] !== "ended")
      seen.push(await details("process", { action: "poll", sessionId, timeout: 5 }));
    assert.deepEqual([seen.map(({ output }) => output).join(""), seen.at(-1)?.["exitCode"]], ["got word\n", 3]);
  });

  it("is judged and shown as it was written", async (t) => {
    const { ask, questions } = person();
    const { sh } = await confined(t, {}, { policy: ASK_ALL, ask });
    assert.equal((await sh("echo on"))["output"], "on\n");
    const [question] = questions;
    assert.equal(question?.title, "echo on");
    assert.match(JSON.stringify(question?.subject), /"argv":\["echo","on"\],"file":"[^"]*\/echo"/);
  });

  const allowed: [what: string, command: string, text: string | undefined][] = [
    ["a script", "./tool 1", "#!/bin/sh\n"],
    ["a script of a shell", "sh tool 1", ""],
    ["a program", "./tool -c 'BODY' ./tool 1", undefined],
  ];
  for (const [what, command, head] of allowed) {
    it(`runs ${what} from a private copy, which it cannot change, and sees no other`, async (t) => {
      const { ask, questions } = person();
      const scene = await confined(t, {}, { policy: listed("on-miss"), ask });
      const copies = join(scene.stateDir, "exec-copies");
      // What removes those of a gateway that was killed has run.
      await writeFile(join(scene.root, "first"), "#!/bin/sh\n", { mode: 0o755 });
      assert.equal((await scene.sh("./first"))["exitCode"], 0);
      await mkdir(join(copies, "run-other"));
      await writeFile(join(copies, "run-other", "tool"), CANARY);
      const body = [
        `echo "$0 $1"; ls ${copies}/*`,
        `for one in ${copies}/*/*; do echo x > "$one" && rm -f "$one"; done 2> /dev/null`,
        `cat ${copies}/*/* | grep -c ${CANARY.replace("-", "[-]")}`,
      ].join("; ");
      if (head === undefined) await copyFile(await realpath("/bin/sh"), join(scene.root, "tool"));
      else await writeFile(join(scene.root, "tool"), `${head}${body}\n`, { mode: 0o755 });
      const { output, sandboxed } = await scene.sh(command.replace("BODY", body));
      const name = what === "a script" ? join(scene.root, "tool") : command.includes("sh tool") ? "tool" : "./tool";
      assert.deepEqual([output, sandboxed], [`${name} 1\ntool\n0\n`, true]);
      assert.deepEqual(await readdir(copies), ["run-other"], "it is removed");
      assert.equal(questions.at(-1)?.files?.find(({ runs }) => runs)?.path, join(scene.root, "tool"));
    });
  }

  it("releases its resources when it cannot start", async (t) => {
    const { sh, root, stateDir, programs } = await confined(t, {}, { policy: listed("on-miss"), ask: person().ask });
    await writeFile(join(root, "tool"), "#!/bin/sh\n", { mode: 0o755 });
    const left = async () => [await readdir(join(stateDir, "exec-copies")), (await readdir(root)).sort()];
    for (const background of [false, true]) {
      await symlink("tool", join(root, "SOUL.md"));
      await assert.rejects(sh("./tool", { background }), { code: "INVALID_REQUEST", message: /SOUL\.md is a link/ });
      await unlink(join(root, "SOUL.md"));
      assert.deepEqual(await left(), [[], ["tool"]]);
    }
    const start = programs.start.bind(programs);
    t.mock.method(programs, "start", (what: Parameters<typeof start>[0]) => {
      assert.ok(what.hold);
      throw new Error("no more processes");
    });
    for (const background of [false, true]) {
      await assert.rejects(sh("./tool", { background }), { message: "no more processes" });
      assert.deepEqual(await left(), [[], ["tool"]]);
    }
  });

  it("keeps the sandbox it was judged with, even if the mode becomes off while people are asked", async (t) => {
    const { ask, hands } = person();
    const { state, sh } = await confined(t, {}, { policy: ASK_ALL, ask });
    hands.meanwhile = () => (state.config = { ...state.config, sandbox: { mode: "off" } });
    assert.equal((await sh("true"))["sandboxed"], true);
    assert.equal((await sh("true"))["sandboxed"], undefined);
  });

  it("reads no secret of the gateway, its user, other agents or the machine, whatever the way", async (t) => {
    const { stateDir, home, other, sh } = await confined(t, {}, { env: { SVC_GATEWAY_TOKEN: CANARY } });
    const ways = [
      `cat ${stateDir}/svc.db; grep -r canary ${stateDir}`,
      `for p in /proc/[0-9]*; do cat $p/root${stateDir}/svc.db $p/cwd/../svc.db; done`,
      `cat /proc/1/root${stateDir}/svc.db /proc/1/cwd${stateDir}/svc.db`,
      `cat ${home}/.ssh/id; find ${home} /root /home -type f -exec cat {} +`,
      `cat ${other}/secret; ls ${other}`,
      `ln -s ${stateDir}/svc.db link; cat link`,
      `unshare -Urm sh -c 'mount --bind / /mnt; cat /mnt${stateDir}/svc.db'; umount ${stateDir}; chroot / cat ${stateDir}/svc.db`,
      "cat /proc/[0-9]*/environ",
    ];
    for (const way of ways) {
      const { output } = await sh(`exec 2>&1; ${way}; echo; echo end`);
      assert.ok(!String(output).includes(CANARY), `${way}: ${String(output)}`);
      assert.match(String(output), /end\n$/);
    }
    // Also where root runs the gateway.
    assert.ok(!/root:[^:]*:\d/.test(String((await sh("cat /etc/shadow; cat /proc/1/root/etc/shadow"))["output"])));
    assert.match(String((await sh("head -1 /etc/passwd"))["output"]), /^root:/);
  });

  it("cannot write outside the workspace", async (t) => {
    const { sh, directory, other, stateDir } = await confined(t);
    const name = `svc-escape-${randomUUID()}`;
    const system = ["/", "/usr", "/etc", "/usr/bin", "/opt", "/dev", "/var", "/tmp", "/var/tmp", "/dev/shm"];
    const places = [...system, stateDir, other, directory];
    await sh(places.map((place) => `mkdir -p ${place}; echo x > ${place}/${name}`).join("; "));
    assert.deepEqual(
      places.filter((place) => existsSync(join(place, name))),
      [],
    );
    assert.equal(await readFile(join(other, "secret"), "utf8"), CANARY);
  });

  it("cannot change settings of the kernel, also where root runs the gateway", async (t) => {
    const { sh } = await confined(t);
    // What is written is what stands there, should it get through.
    const { output } = await sh(
      'for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/printk /proc/sys/vm/swappiness /proc/sys/kernel/hostname; do v=$(cat $f); (echo "$v" > $f) 2>/dev/null && echo wrote $f; done; echo end',
    );
    assert.equal(output, "end\n");
  });

  const attacks = (name: string) => [
    `echo evil > ${name}`,
    `echo evil >> ${name}`,
    `rm -f ${name}; echo evil > ${name}`,
    `echo evil > n; mv -f n ${name}`,
    `mv ${name} m; echo evil > ${name}`,
    `ln -f ${name} l && echo evil > l`,
    `ln -sf /etc/hosts ${name}`,
    `sed -i s/./evil/ ${name}`,
    `umount ${name}; echo evil > ${name}`,
    `chmod 777 ${name} && echo evil > ${name}`,
    `mv ../workspace ../w; mkdir ../workspace; echo evil > ../workspace/${name}`,
    `unshare -Urm sh -c 'umount ${name}; mount -o remount,rw ${name}; echo evil > ${name}'`,
    `node -e 'fs.renameSync("n","${name}")'`,
    `mkdir ${name}; rm -rf ${name}`,
  ];
  for (const isThere of [true, false]) {
    it(`cannot ${isThere ? "write" : "create"} an identity file`, async (t) => {
      const { root, sh } = await confined(t);
      if (isThere) for (const name of IDENTITY_FILES) await writeFile(join(root, name), `good ${name}`);
      const { exitCode } = await sh(`(${IDENTITY_FILES.flatMap(attacks).join("\n")}\n) 2>/dev/null; exit 5`);
      assert.equal(exitCode, 5);
      for (const name of IDENTITY_FILES) {
        const text = await readFile(join(root, name), "utf8").catch(() => undefined);
        assert.equal(text, isThere ? `good ${name}` : undefined, name);
      }
    });
  }

  it("may read them, and write other files of their names further below", async (t) => {
    const { root, sh } = await confined(t);
    await writeFile(join(root, "SOUL.md"), "kind");
    const { output } = await sh("cat SOUL.md; mkdir d; echo mine > d/SOUL.md; cat d/SOUL.md");
    assert.equal(output, "kindmine\n");
  });

  for (const [what, put] of [
    ["a link", (root: string) => symlink("notes.md", join(root, "MEMORY.md"))],
    ["a file with a second name", async (root: string) => link(join(root, "notes.md"), join(root, "MEMORY.md"))],
    ["a directory", async (root: string) => mkdir(join(root, "MEMORY.md"))],
  ] as const) {
    it(`does not start where one of them is ${what}`, async (t) => {
      const { root, use } = await confined(t);
      await writeFile(join(root, "notes.md"), "n");
      await put(root);
      await assert.rejects(use("exec", { command: "true" }), {
        code: "INVALID_REQUEST",
        message: /MEMORY\.md is a link.*replace it with a regular file/,
      });
    });
  }

  for (const [what, replace] of [
    ["replaced", async (path: string) => (await writeFile(`${path}.new`, "new"), rename(`${path}.new`, path))],
    ["removed", (path: string) => unlink(path)],
    ["made", async (path: string) => (await unlink(path).catch(() => undefined), writeFile(path, "made"))],
  ] as const) {
    it(`ends when one of them is ${what} from outside, since the mount over it goes then`, async (t) => {
      const { log, warned } = warnings();
      const { root, sh, say, details } = await confined(t, {}, { log });
      const path = join(root, "AGENTS.md");
      if (what !== "made") await writeFile(path, "old");
      const words = `sleep 1000.${randomUUID().replaceAll(/\D/g, "")}`;
      const { sessionId } = await sh(`echo up; ${words}`, { background: true });
      while (
        !String((await details("process", { action: "log", sessionId }))["status"]).includes("running") ||
        (await running(words)).length === 0
      )
        await sleep(5);
      await replace(path);
      await untilGone(words);
      const poll = () => say("process", { action: "poll", sessionId, timeout: 10 });
      let told = await poll();
      while (/running for/.test(told)) told = await poll(); // it is reported as ended once its output has been read
      assert.match(told, /an identity file of the agent was replaced/);
      assert.match(warned.join(), /was replaced while commands ran in its sandbox; the commands are ended/);
    });
  }

  const writers: readonly (readonly [tool: string, args: object])[] = [
    ["write", { path: "AGENTS.md", content: "new" }],
    ["edit", { path: "./AGENTS.md", oldText: "old", newText: "new" }],
    ["apply_patch", { patch: "*** Begin Patch\n*** Update File: AGENTS.md\n@@\n-old\n+new\n*** End Patch" }],
    [
      "apply_patch",
      { patch: "*** Begin Patch\n*** Delete File: AGENTS.md\n*** Add File: MEMORY.md\n+new\n*** End Patch" },
    ],
    [
      "apply_patch",
      { patch: "*** Begin Patch\n*** Update File: notes.md\n*** Move to: MEMORY.md\n@@\n-old\n+new\n*** End Patch" },
    ],
  ];
  for (const [tool, args] of writers) {
    it(`has ended before ${tool} writes one of them: ${JSON.stringify(args).slice(0, 80)}`, async (t) => {
      const { log, warned } = warnings();
      const { root, sh, use, say } = await confined(t, {}, { log });
      for (const name of ["AGENTS.md", "notes.md"]) await writeFile(join(root, name), "old\n");
      // It writes all the time, as one would that waits for a moment without protection.
      const command =
        "while :; do for f in AGENTS.md MEMORY.md; do (echo evil >> $f) 2>/dev/null; done; touch ran; done";
      const { sessionId } = await sh(command, { background: true });
      while (!(await readdir(root)).includes("ran")) await sleep(5);
      await use(tool, args as Record<string, unknown>);
      assert.match(
        await say("process", { action: "poll", sessionId, timeout: 10 }),
        /an identity file of the agent was replaced/,
      );
      assert.deepEqual(warned, [], "nobody has to look at the file: there was no moment without protection");
      for (const name of ["AGENTS.md", "MEMORY.md"])
        assert.doesNotMatch(await readFile(join(root, name), "utf8").catch(() => ""), /evil/);
    });
  }

  it("goes on while other files are written", async (t) => {
    const { sh, use, details } = await confined(t);
    const { sessionId } = await sh("sleep 60", { background: true });
    for (const path of ["notes.md", "d/AGENTS.md"]) await use("write", { path, content: "new" });
    assert.equal((await details("process", { action: "poll", sessionId }))["status"], "running");
  });

  it("leaves no placeholder, also when commands overlap", async (t) => {
    const { root, sh } = await confined(t);
    await writeFile(join(root, "memory.md"), "m");
    await Promise.all(["sleep 0.2", "true", "sleep 0.1"].map((command) => sh(command)));
    assert.deepEqual(await readdir(root), ["memory.md"]);
  });

  it("has no network, and the loopback of the gateway neither", async (t) => {
    const server = createServer((socket) => socket.end(CANARY));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const { port } = server.address() as { port: number };
    const call = `node -e 'require("net").connect(${port},"127.0.0.1").on("data",d=>console.log(""+d)).on("error",e=>console.log(e.code))'`;
    const without = await confined(t);
    assert.equal((await without.sh(call))["output"], "ECONNREFUSED\n");
    const allowed = await confined(t, { network: true });
    assert.equal((await allowed.sh(call))["output"], `${CANARY}\n`);
  });

  it("reads and writes further paths as they are set, and runs programs of tools.exec.pathPrepend", async (t) => {
    const outside = directory(t);
    const [data, cache, tools] = [join(outside, "data"), join(outside, "cache"), join(outside, "tools")];
    for (const path of [data, cache, tools]) await mkdir(path);
    await writeFile(join(data, "file"), "data\n");
    await writeFile(join(tools, "svc-test-tool"), "#!/bin/sh\necho tool\n", { mode: 0o755 });
    const { sh } = await confined(
      t,
      {},
      {
        exec: { pathPrepend: [tools], sandbox: { mode: "require", readPaths: [data] } },
        sandboxes: { main: { writePaths: [cache] } },
      },
    );
    const { output } = await sh(
      `exec 2>&1; cat ${data}/file; echo x > ${data}/file; echo made > ${cache}/file; svc-test-tool`,
    );
    assert.match(String(output), /^data\n.*Read-only file system\ntool\n$/);
    assert.equal(await readFile(join(cache, "file"), "utf8"), "made\n");
  });

  it("sees and ends no process outside", async (t) => {
    const outside = spawn("sleep", ["1000"]);
    t.after(() => outside.kill("SIGKILL"));
    const { sh } = await confined(t);
    const { output } = await sh(`kill -9 ${outside.pid} && echo killed; ls /proc | grep -c '^[0-9]'; echo end`);
    assert.doesNotMatch(String(output), /killed/);
    assert.equal(outside.exitCode ?? outside.signalCode, null);
    process.kill(outside.pid ?? 0, 0);
  });

  it("gains nothing: no capabilities, no new ones by programs of root, no further user namespaces", async (t) => {
    const { sh } = await confined(t);
    const { output } = await sh(
      "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; unshare -Ur true 2>/dev/null && echo namespace; echo end",
    );
    assert.deepEqual(String(output).split("\n").toSorted(), [
      "",
      "CapBnd:\t0000000000000000",
      "CapEff:\t0000000000000000",
      "NoNewPrivs:\t1",
      "end",
    ]);
  });

  for (const [what, settings, command] of [
    ["at its time", { timeoutSec: 1 }, (words: string) => `setsid sh -c '${words}; true' & trap '' TERM; ${words}`],
    [
      "at its end",
      { timeoutSec: 30 },
      (words: string) => `setsid sh -c 'trap "" TERM HUP; ${words}; true' >/dev/null 2>&1 & sleep 0.2`,
    ],
  ] as const) {
    it(`leaves nothing running ${what}, whatever left its process group`, async (t) => {
      const words = `sleep 1000.${randomUUID().replaceAll(/\D/g, "")}`;
      const { use } = await confined(t, {}, { exec: { ...settings, sandbox: { mode: "require" } } });
      await use("exec", { command: command(words) });
      await untilGone(words);
    });
  }

  it("has bounded data and bounded private directories", async (t) => {
    const { sh } = await confined(t, { memoryMb: 256 });
    const hog = await sh(
      "node -e 'const kept = []; for (;;) kept.push(Buffer.alloc(1 << 20, 1))' 2>/dev/null; echo $?",
    );
    assert.notEqual(hog["output"], "0\n");
    for (const place of ["/tmp", "/var/tmp", "/dev/shm", "$HOME"]) {
      const { output } = await sh(`exec 2>&1; head -c 400M /dev/zero > ${place}/big; stat -c %s ${place}/big`);
      assert.match(String(output), /No space left on device\n268435456\n$/, place);
    }
  });

  it("cannot raise its limits", async (t) => {
    const { sh } = await confined(t, { memoryMb: 64 });
    assert.equal((await sh("ulimit -d; ulimit -d unlimited 2>/dev/null && echo more"))["output"], "65536\n");
  });
});

describe("a sandbox", real, () => {
  /** A directory, and the words that run shell text there in a sandbox. */
  async function directoryOf(t: TestContext) {
    const found = await findSandbox();
    assert.ok(!("missing" in found));
    const own = directory(t);
    const nowhere = { own: [own], locked: [], stateDir: "/nowhere", home: "/nowhere/home", hidden: [] };
    const wordsOf = (
      text: string,
      settings: SandboxSettings = {},
      place: Partial<SandboxPlace> = {},
      hidden: Parameters<typeof sandboxMounts>[3] = [],
    ) => {
      const rules = sandboxRules(settings);
      const shape = { ...rules, mounts: sandboxMounts(found.system, rules, { ...nowhere, ...place }, hidden) };
      return [found.path, ...sandboxArgv({ file: "/bin/sh", argv: ["sh", "-c", text], cwd: own }, shape)];
    };
    return { own, wordsOf };
  }

  const run = ([file = "", ...args]: readonly string[]) =>
    spawnSync(file, args, { encoding: "utf8", timeout: 30_000, env: { PATH: process.env["PATH"] } });

  it("of a user that is not root runs so many processes and no more, whatever the user runs elsewhere", async (t) => {
    const { own, wordsOf } = await directoryOf(t);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chown(own, 65_534, 65_534);
    await chmod(own, 0o700);
    const user = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
    const outputOf = (count: number) => {
      const each = Array.from({ length: count }, (_, index) => index).join(" ");
      const text = `for i in ${each}; do sleep 30 & done; echo all`;
      const { stdout, stderr } = run([...user, ...wordsOf(text, { processes: 20 })]);
      return stdout + stderr;
    };
    assert.match(outputOf(10), /^all\n$/);
    const bomb = outputOf(40);
    assert.doesNotMatch(bomb, /all/);
    assert.match(bomb, /fork|Resource/i);
  });

  it("shows nothing where something lies that is hidden within what it may write", async (t) => {
    const { own, wordsOf } = await directoryOf(t);
    const [closed, file] = [join(own, "state"), join(own, "svc.json")];
    await mkdir(closed);
    await writeFile(join(closed, "svc.db"), CANARY);
    await writeFile(file, CANARY);
    const text = `cat state/* svc.json; echo evil > state/new; echo evil > svc.json; rm -rf state svc.json; mv state s; echo end`;
    const words = wordsOf(text, {}, { stateDir: closed, hidden: [file] }, [
      { path: closed, of: "directory" },
      { path: file, of: "file" },
    ]);
    assert.equal(run(words).stdout, "end\n");
    assert.deepEqual([await readFile(file, "utf8"), await readdir(closed)], [CANARY, ["svc.db"]]);
  });

  it("ends with the gateway, also when that is killed", async (t) => {
    const { wordsOf } = await directoryOf(t);
    const words = `sleep 1000.${randomUUID().replaceAll(/\D/g, "")}`;
    const [file, ...args] = wordsOf(`setsid sh -c '${words}; true' & ${words}; true`);
    const start = `require("node:child_process").spawn(${JSON.stringify(file)}, ${JSON.stringify(args)}, { detached: true, stdio: "ignore" })`;
    const gateway = spawn(process.execPath, ["-e", start], { stdio: "ignore" });
    while ((await running(words)).length < 4) await sleep(10);
    gateway.kill("SIGKILL");
    await untilGone(words);
  });

  it("has no terminal to put input into", async (t) => {
    const { wordsOf } = await directoryOf(t);
    const text = "(: < /dev/tty) 2>/dev/null && echo terminal || echo none";
    const inTerminal = (words: readonly string[]) =>
      run(["script", "-qec", commandText(words), "/dev/null"]).stdout.trim();
    assert.equal(inTerminal(["sh", "-c", text]), "terminal");
    const own = ["setsid", "--wait", ...wordsOf(text)];
    assert.equal(inTerminal(own), "none", "started in a session of its own");
  });
});

describe("which sandbox an agent has", () => {
  const found = async () => ({ path: "/usr/bin/bwrap", version: "0.8.0", system: [] });
  const missing = async () => ({ missing: "the program bwrap is not on PATH", install: "apt install bubblewrap" });

  it("is that of all agents, key by key under its own; others are told whether it is in force", async (t) => {
    const { sandbox } = await openScene(t, {
      exec: { sandbox: { mode: "prefer" } },
      sandboxes: { other: { mode: "off" } },
      find: found,
    });
    assert.deepEqual(await Promise.all(["main", "other"].map((id) => sandbox.inForce(id))), [true, false]);
    const without = await openScene(t, { exec: { sandbox: { mode: "prefer" } }, find: missing });
    assert.equal(await without.sandbox.inForce("main"), false);
    const { sandbox: byDefault } = await openScene(t, { find: found });
    assert.equal(await byDefault.inForce("main"), false);
  });

  const sealed: readonly [sandbox: SandboxSettings, has: boolean, effect: string][] = [
    [{ mode: "require" }, true, "writes-workspace"],
    [{ mode: "prefer" }, true, "writes-workspace"],
    [{ mode: "prefer" }, false, "runs-code"],
    [{ mode: "require", network: true }, true, "runs-code"],
    [{ mode: "off" }, true, "runs-code"],
  ];
  for (const [settings, has, effect] of sealed) {
    it(`decides whether people are asked because of external content: ${JSON.stringify(settings)}, ${has}`, async (t) => {
      const { tools } = await openScene(t, { exec: { sandbox: settings }, find: has ? found : missing });
      const effects = tools["exec"]?.effects;
      const call = { name: "exec", toolCallId: "c", arguments: {}, runId: "r", sessionKey: "s", agentId: "main" };
      assert.ok(typeof effects === "function");
      assert.deepEqual(await effects({ command: "true" }, { call, seen: [] }), [effect]);
    });
  }

  it("is reported by svc sandbox doctor for each agent", () => {
    const listed = [
      { id: "main", model: "m" },
      { id: "web", tools: { deny: ["x"], exec: { sandbox: { mode: "require", network: true } } } },
    ];
    assert.deepEqual(agentSubjects({ mode: "prefer" }, listed), [
      { about: "agent main", rules: sandboxRules({ mode: "prefer" }), key: "tools.exec.sandbox" },
      {
        about: "agent web",
        rules: sandboxRules({ mode: "require", network: true }),
        key: "agents.list[1].tools.exec.sandbox",
      },
    ]);
    assert.deepEqual(agentSubjects(null, null), [
      { about: "agent main", rules: sandboxRules(), key: "tools.exec.sandbox" },
    ]);
  });

  it("is in force from the next command on when the configuration changes", async (t) => {
    const { sandbox, state } = await openScene(t, { find: found });
    state.config = { ...state.config, sandbox: { mode: "require" } };
    assert.equal(await sandbox.inForce("main"), true);
  });

  it("refuses a command that needs one this machine does not have, and names the package", async (t) => {
    const { root, use } = await openScene(t, { exec: { sandbox: { mode: "require" } }, find: missing });
    await assert.rejects(use("exec", { command: "touch ran" }), {
      code: "UNAVAILABLE",
      message: /agent "main" needs a sandbox.*bwrap is not on PATH.*apt install bubblewrap/,
    });
    assert.deepEqual(await readdir(root), []);
  });

  it("lets a command run without one where it is only preferred, and the log says so", async (t) => {
    const { log, warned } = warnings();
    const { details, root } = await openScene(t, { exec: { sandbox: { mode: "prefer" } }, find: missing, log });
    const result = await details("exec", { command: "touch ran" });
    assert.deepEqual([result["exitCode"], result["sandboxed"]], [0, undefined]);
    await details("exec", { command: "true" });
    assert.deepEqual(warned, ["programs run without the preferred sandbox"]);
    assert.deepEqual(await readdir(root), ["ran"]);
  });

  it("leaves nothing behind when the program cannot be started", async (t) => {
    const nowhere = async () => ({ path: "/no/such/bwrap", version: "0.8.0", system: [] });
    const { use, root } = await openScene(t, { exec: { sandbox: { mode: "require" } }, find: nowhere });
    assert.equal((await use("exec", { command: "true" })).isError, true);
    while ((await readdir(root)).length > 0) await sleep(5);
    assert.deepEqual(await readdir(root), []);
  });
});
