/** An agent of a real gateway uses the tools: a model server calls them, a person allows a command. */
import assert from "node:assert/strict";
import { access, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type Plugin } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { execApproval, execApprovalRequested, type ExecPolicyFile } from "@svc/sdk/approvals";
import { config } from "@svc/sdk/config";
import { type FakeModelReply, type FakeModelServer, startFakeModelServer, testGateway } from "@svc/sdk/testing";
import { CommandSandbox } from "@svc/sdk/tools";
import workspace from "../../../plugins/workspace/plugin.ts";
import { withoutSandbox } from "../../bubblewrap.ts";
import { FULL, listed } from "./scene.ts";

const skip = await withoutSandbox();
const OTHERS = "agents approvals config models provider-openai secrets sessions storage-sqlite tools".split(" ");

async function start(
  t: TestContext,
  replies: readonly FakeModelReply[] = [],
  tools: object = {},
  more: readonly Plugin[] = [],
) {
  const server = await startFakeModelServer({ replies });
  t.after(() => server.close());
  const stateDir = await mkdtemp(join(tmpdir(), "svc-test-"));
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 }));
  const provider = { baseUrl: server.url, apiKey: "key-1", models: [{ id: "m", name: "Fake" }] };
  const file = { models: { providers: { fake: provider } }, agents: { defaults: { model: "fake/m" } }, tools };
  await writeFile(join(stateDir, "svc.json"), JSON.stringify(file), { mode: 0o600 });
  const running = await testGateway(t, {
    plugins: [workspace, ...OTHERS, ...more],
    stateDir,
    gateway: { config: undefined, env: { SVC_STATE_DIR: stateDir } },
  });
  const root = join(running.stateDir, "workspace");
  await mkdir(root, { recursive: true });
  let serial = 0;
  /** Resolves when the run is over. */
  const talk = async (message: string) => {
    const runId = `run-${++serial}`;
    await running.client.call(agents.run, { message, sessionKey: "main", idempotencyKey: runId });
    return running.client.call(agents.wait, { runId, timeoutMs: 20_000 });
  };
  const setPolicy = (policy: ExecPolicyFile) =>
    writeFile(join(stateDir, "exec-approvals.json"), JSON.stringify(policy), { mode: 0o600 });
  return { ...running, server, root, talk, setPolicy };
}

const calls = (name: string, args: object): FakeModelReply => ({ toolCalls: [{ name, arguments: args }] });

/** What the model was told about its latest call. */
function told({ requests }: FakeModelServer): string {
  const message = requests.at(-1)?.body.messages?.findLast(({ role }) => role === "tool");
  return typeof message?.content === "string" ? message.content : JSON.stringify(message?.content);
}

function offered({ requests }: FakeModelServer): string[] {
  const tools = (requests.at(-1)?.body.tools ?? []) as { function: { name: string } }[]; // the shape of the API
  return tools.map(({ function: { name } }) => name);
}

describe("an agent with a workspace", { timeout: 120_000 }, () => {
  it("writes and reads files, and runs a command that a person allows", async (t) => {
    const replies = [
      calls("write", { path: "notes/a.txt", content: "hello\n" }),
      calls("read", { path: "notes/a.txt" }),
      calls("exec", { command: "cat notes/a.txt && touch ran" }),
      { text: "done" },
    ];
    const { server, root, client, talk, setPolicy } = await start(t, replies);
    await setPolicy(listed("on-miss"));
    const asked: string[] = [];
    client.on(execApprovalRequested, ({ id, request }) => {
      asked.push(request.command);
      void client.call(execApproval.resolve, { id, decision: "allow-once" });
    });
    const { status } = await talk("go");
    assert.equal(status, "ok");
    assert.match(told(server), /^hello\n\[exit code 0 after/);
    assert.deepEqual(asked, ["cat notes/a.txt && touch ran"]);
    assert.equal(await readFile(join(root, "notes", "a.txt"), "utf8"), "hello\n");
    await access(join(root, "ran"));
    const names = ["read", "write", "edit", "apply_patch", "exec", "process"];
    assert.deepEqual(
      names.filter((name) => !offered(server).includes(name)),
      [],
    );
  });

  it("runs the script a person was shown, and for good no other", async (t) => {
    const command = calls("exec", { command: "./once.sh" });
    const replies = [command, command, command, command].flatMap((call) => [call, { text: "done" }]);
    const { server, root, client, talk, setPolicy } = await start(t, replies);
    await setPolicy(listed("on-miss"));
    const path = join(root, "once.sh");
    const put = (text: string) => writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    const shown: unknown[] = [];
    let meanwhile = () => Promise.resolve();
    client.on(execApprovalRequested, async ({ id, request }) => {
      shown.push(request.files?.map(({ path: name, bytes }) => [name, bytes]));
      await meanwhile();
      await client.call(execApproval.resolve, { id, decision: "allow-always" });
    });
    await put("echo one");
    await talk("go");
    await talk("again");
    assert.match(told(server), /^one\n\[exit code 0/);
    const real = await realpath(path);
    assert.deepEqual(shown, [[[real, 19]]], "what was allowed for good is not asked for again");
    await put("echo other");
    meanwhile = () => put("touch ran");
    await talk("changed");
    assert.match(
      told(server),
      /did not run: .*once\.sh.* changed since the command was judged.*Next: run the command again/,
    );
    meanwhile = () => Promise.resolve();
    await put("echo one");
    await talk("back");
    assert.match(told(server), /^one\n\[exit code 0/);
    assert.equal(shown.length, 2);
    await assert.rejects(access(join(root, "ran")), { code: "ENOENT" });
  });

  it("writes identity files, each change under its name, and a person puts one back", async (t) => {
    const patch = "*** Begin Patch\n*** Add File: HEARTBEAT.md\n+look\n*** Delete File: SOUL.md\n*** End Patch";
    const { root, client, talk } = await start(t, [
      calls("write", { path: "SOUL.md", content: "kind\n" }),
      calls("edit", { path: "./SOUL.md", oldText: "kind", newText: "rude" }),
      calls("apply_patch", { patch }),
      { text: "done" },
    ]);
    await writeFile(join(root, "notes.md"), "no workspace of ours");
    assert.equal((await talk("go")).status, "ok");
    const { versions } = await client.call(agents.filesLog, {});
    assert.deepEqual(versions.map(({ name, version, how, runId }) => `${name} ${version} ${how} ${runId}`).toSorted(), [
      "HEARTBEAT.md 1 apply_patch run-1",
      "SOUL.md 1 write run-1",
      "SOUL.md 2 edit run-1",
      "SOUL.md 3 apply_patch run-1",
    ]);
    assert.equal(versions[0]?.sessionKey, "agent:main:main");
    const { diff } = await client.call(agents.filesDiff, { name: "SOUL.md", from: 1, to: 2 });
    assert.match(diff, /-kind\n\+rude\n$/);
    const { version } = await client.call(agents.filesRestore, { name: "SOUL.md", version: 1 });
    assert.equal(version, 4);
    assert.equal(await readFile(join(root, "SOUL.md"), "utf8"), "kind\n");
  });

  it("runs no command that a person denies, nor any without a policy file", async (t) => {
    const command = calls("exec", { command: "touch ran" });
    const { server, root, client, talk, setPolicy } = await start(t, [
      command,
      { text: "one" },
      command,
      { text: "two" },
    ]);
    await talk("go");
    assert.match(told(server), /did not run: the policy file denies all commands.*Next: an operator/);
    await setPolicy(listed("on-miss"));
    client.on(execApprovalRequested, ({ id }) => void client.call(execApproval.resolve, { id, decision: "deny" }));
    await talk("again");
    assert.match(told(server), /did not run: .* denied it/);
    await assert.rejects(access(join(root, "ran")), { code: "ENOENT" });
  });

  it("runs commands in the sandbox that is configured, and tells other plugins of it", { skip }, async (t) => {
    const command =
      "cat $HOME/* ../svc.json ../*/* /proc/1/root$PWD/../svc.json; ls -A ..; echo evil > AGENTS.md; touch ran";
    const replies = [calls("exec", { command }), { text: "done" }];
    const asked: CommandSandbox[] = [];
    const other = definePlugin({
      id: "other",
      api: "^1.0.0",
      requires: { sandbox: CommandSandbox },
      setup: ({ services }) => void asked.push(services.sandbox),
    });
    const { server, root, talk, setPolicy } = await start(t, replies, { exec: { sandbox: { mode: "require" } } }, [
      other,
    ]);
    await setPolicy(FULL);
    await talk("go");
    const said = told(server);
    assert.match(said, /^workspace$/m);
    assert.match(said, /cannot create AGENTS\.md: Read-only file system/);
    assert.doesNotMatch(said, /baseUrl|apiKey|key-1/);
    await access(join(root, "ran"));
    assert.doesNotMatch(await readFile(join(root, "AGENTS.md"), "utf8"), /evil/);
    assert.equal(await asked[0]?.inForce("main"), true);
  });

  it("takes changes of its configuration at once: what runs in the background goes on", async (t) => {
    const { server, root, client, talk, setPolicy } = await start(t);
    await setPolicy(FULL);
    server.reply(calls("exec", { command: "touch started; exec sleep 60", background: true }), { text: "ok" });
    await talk("start");
    const { hash } = await client.call(config.get, {});
    const raw = JSON.stringify({ tools: { exec: { security: "deny" } } });
    await client.call(config.patch, { raw, baseHash: hash });
    server.reply(calls("process", { action: "list" }), { text: "ok" });
    await talk("look");
    assert.match(told(server), /: running for .*: touch started/);
    server.reply(calls("exec", { command: "touch ran" }), { text: "ok" });
    await talk("run");
    assert.match(told(server), /tools\.exec\.security is deny/);
    await assert.rejects(access(join(root, "ran")), { code: "ENOENT" });
  });
});
