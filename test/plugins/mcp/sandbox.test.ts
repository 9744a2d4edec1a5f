/** Server programs in a real sandbox. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSandbox, sandboxRules } from "@svc/kit/exec";
import { textOf } from "@svc/sdk/models";
import type { SandboxSettings } from "@svc/sdk/tools";
import { serverSubjects } from "../../../plugins/mcp/cli.ts";
import { confineWith } from "../../../plugins/mcp/sandbox.ts";
import { withoutSandbox } from "../../bubblewrap.ts";
import { root } from "../../checkout.ts";
import { temporaryDirectory } from "../agents/temporary.ts";
import { AWAY, CONNECTED, moving, program, scene } from "./scene.ts";

/** The test server and its packages lie in the checkout. */
const sandbox = { mode: "require", readPaths: [root] };

describe("a server in the sandbox", { skip: await withoutSandbox(), timeout: 60_000 }, () => {
  it("works like any other server, and sees nothing of the gateway", async (t) => {
    const server = program();
    const words = [server.command, ...server.args].map((word) => `'${word}'`).join(" ");
    // It waits until the test has put something into the state directory.
    const text = `while [ ! -e begin ]; do sleep 0.01; done; (cat state/canary; cat /proc/1/root$PWD/state/canary) > seen 2>&1; exec ${words}`;
    const entry = { command: "/bin/sh", args: ["-c", text], env: { GREETING: "hello" }, sandbox };
    const { line, use, directory } = await scene(t, { docs: entry });
    await mkdir(join(directory, "state"));
    await writeFile(join(directory, "state", "canary"), "canary");
    await writeFile(join(directory, "begin"), "");
    await line(CONNECTED);
    assert.match(textOf(await use("docs__echo", { text: "hi" })), /you said: hi/);
    const seen = await readFile(join(directory, "seen"), "utf8");
    assert.match(seen, /No such file or directory/);
    assert.doesNotMatch(seen, /canary$/m);
    const told = textOf(await use("docs__environment"));
    assert.match(told, /"GREETING":"hello"/);
    assert.ok(told.includes(`"cwd":"${directory}"`), told);
  });

  it("is stopped with its children, even those that left its process group", async (t) => {
    const server = program("parent", "stubborn");
    const mark = `mark-${process.pid}-${Date.now()}`;
    // Its helper has its own session, and its command line shows the mark to outside processes.
    const text = `setsid sh -c 'sleep 1000; : ${mark}' & exec ${[server.command, ...server.args].join(" ")}`;
    const { clock, line, servers } = await scene(t, { docs: { command: "/bin/sh", args: ["-c", text], sandbox } });
    await line(CONNECTED);
    assert.ok((await running(mark)).length > 0);
    await moving(clock, servers.stop());
    while ((await running(mark)).length > 0) await sleep(5);
  });

  it("names the reason when a path would expose the state directory", async (t) => {
    const { line } = await scene(t, { docs: { ...program(), sandbox: { mode: "prefer", readPaths: ["/"] } } });
    const reason = String((await line(AWAY)).fields["reason"]);
    assert.match(reason, /MCP server "docs": \/ in readPaths or writePaths exposes/);
  });
});

/** Processes of this machine whose command line has this text. */
async function running(words: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (text.includes(words)) found.push(pid);
  }
  return found;
}

describe("the sandbox of a server", () => {
  it("may write its own directory and the configured paths, within the configured limits", async (t) => {
    const directory = await temporaryDirectory(t);
    const found = async () => ({ path: "/usr/bin/bwrap", version: "0.8.0", system: [] });
    const made = createSandbox({ clock: { elapsed: () => 0 }, log: { warn: () => undefined }, find: found });
    const confine = confineWith({
      sandbox: made,
      stateDir: () => "/nowhere/state",
      hidden: () => [],
      home: "/nowhere",
    });
    const server = { command: "files-over-mcp", args: ["--all"], env: { A: "b" }, cwd: directory };
    const [data, cache] = [join(directory, "data"), join(directory, "cache")];
    await mkdir(data);
    await mkdir(cache);
    const limits = { network: true, memoryMb: 100, processes: 20 };
    const settings: SandboxSettings = { mode: "require", ...limits, readPaths: [data], writePaths: [cache] };
    const started = await confine("files", server, settings);
    const words = started.args.join(" ");
    assert.deepEqual([started.command, started.env, started.cwd], ["/usr/bin/bwrap", { A: "b" }, "/"]);
    const binds = [`--bind ${directory} ${directory}`, `--ro-bind ${data} ${data}`, `--bind ${cache} ${cache}`];
    for (const part of [...binds, `--chdir ${directory}`]) assert.ok(words.includes(part), part);
    assert.ok(words.endsWith("sh 102400 20 files-over-mcp --all"));
    assert.ok(!words.includes("--unshare-net"));
    assert.deepEqual(await confine("files", server, {}), server);
  });

  it("is reported by svc mcp doctor for each program that is started", () => {
    const servers = {
      files: { command: "files", args: [], sandbox: { mode: "require" } },
      plain: { command: "plain" },
      off: { command: "off", enabled: false },
      web: { url: "https://mcp.example.com" },
    };
    assert.deepEqual(serverSubjects(servers), [
      { about: "MCP server files", rules: sandboxRules({ mode: "require" }), key: "mcp.servers.files.sandbox" },
      { about: "MCP server plain", rules: sandboxRules(), key: "mcp.servers.plain.sandbox" },
    ]);
    assert.deepEqual(serverSubjects(null), []);
  });
});
