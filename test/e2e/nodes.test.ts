/** Nodes end to end: a gateway process, a node process, and `svc` commands of an operator. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { type AllowedProgram, execApproval, execApprovalRequested, execApprovals } from "@svc/sdk/approvals";
import { nodes } from "@svc/sdk/nodes";
import { approvedNode, done, scene, setPolicy, TOKEN } from "./nodes-scene.ts";

describe("a node", () => {
  it("waits for its approval, is listed, and responds", async (t) => {
    const at = await scene(t);
    at.program("tool", "echo tool");
    const node = at.startNode(TOKEN);
    await node.until("waiting");
    assert.deepEqual((await (await at.operator()).call(nodes.list, {})).nodes, []);
    const { next } = await node.until("waiting");
    await done(at, String(next).split(" ").slice(1));
    const { nodeId } = await node.until("connected");
    const listed = await done(at, ["nodes", "list"]);
    assert.match(listed, /workshop .*connected/);
    const operator = await at.operator();
    const [view] = (await operator.call(nodes.list, {})).nodes;
    assert.deepEqual(
      [view?.nodeId, view?.displayName, view?.connected, view?.paired],
      [nodeId, "workshop", true, true],
    );
    assert.ok(view?.commands.includes("system.run") && view.caps.includes("system"));
    const { payload } = await operator.call(nodes.invoke, {
      nodeId: String(nodeId),
      command: "system.which",
      params: { bins: ["tool"] },
    });
    assert.deepEqual(payload, { bins: { tool: join(at.nodeDir, "bin", "tool") } });
    node.child.kill("SIGTERM");
    assert.equal(await node.ended, 0);
    assert.ok(!node.output().includes(TOKEN));
  });

  it("runs nothing until its policy allows it, and then only what the policy allows", async (t) => {
    const at = await scene(t);
    const path = at.program("tool", 'echo "$@"; echo err >&2; exit 3');
    const { nodeId } = await approvedNode(at);
    const denied = await at.svc(["nodes", "run", "workshop", "--", "tool", "a b"]);
    assert.equal(denied.code, 1);
    assert.match(denied.stderr, /policy denies it: .*\nNext: svc approvals /);
    const operator = await at.operator();
    const bare = operator.call(nodes.invoke, { nodeId, command: "system.run", params: { command: ["tool"] } });
    await assert.rejects(bare, { code: "UNAVAILABLE", message: /SYSTEM_RUN_DENIED: / });

    await setPolicy(at, nodeId, { security: "allowlist", ask: "off" });
    const add = ["approvals", "allowlist", "add", path, "--node", nodeId];
    await done(at, [...add, "--", "a b", "--json"]);
    const unbound = await at.svc(["nodes", "run", "workshop", "--", "tool", "a b", "--json"]);
    assert.match(unbound.stderr, /policy denies it: .*bin\/tool.*, which agents can write/);
    const bound = ["--sha256", createHash("sha256").update(readFileSync(path)).digest("hex")];
    await done(at, [...add, ...bound, "--", "a b", "--json"]);
    const exact = await at.svc(["nodes", "run", "workshop", "--", "tool", "a b", "--json"]);
    assert.deepEqual(exact, { code: 3, stdout: "a b --json\n", stderr: "err\n" });
    assert.match(
      (await at.svc(["nodes", "run", "workshop", "--", "tool", "a b"])).stderr,
      /policy denies it: .*other arguments/,
    );
    await done(at, [...add, ...bound, "--any-arguments"]);
    const ran = await at.svc(["nodes", "run", "workshop", "--", "tool", "a b", "--json"]);
    assert.deepEqual(ran, { code: 3, stdout: "a b --json\n", stderr: "err\n" });
    const told = await at.svc(["nodes", "run", nodeId.slice(0, 12), "--json", "--", "tool", "x"]);
    assert.deepEqual((JSON.parse(told.stdout) as { stdout: string }).stdout, "x\n");
    const other = await at.svc(["nodes", "run", "workshop", "--", "ls"]);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /policy denies it/);
  });

  it("reconnects with its own token after its own restart and a killed gateway, until the token is revoked: it prints the next step", async (t) => {
    const at = await scene(t);
    const { node, nodeId } = await approvedNode(at);
    node.child.kill("SIGKILL");
    await node.ended;
    const again = at.startNode(); // without the gateway's token
    assert.equal((await again.until("connected"))["nodeId"], nodeId);
    await at.crash();
    await again.until("connected", 1);
    const operator = await at.operator();
    const { payload } = await operator.call(nodes.invoke, {
      nodeId,
      command: "system.which",
      params: { bins: ["sh"] },
    });
    assert.ok((payload as { bins: { sh: string } }).bins.sh);

    await done(at, ["devices", "revoke", nodeId, "node"]);
    assert.equal(await again.ended, 1);
    const { why, next } = await again.until("refused");
    assert.match(String(why), /revoked the token of this device/);
    assert.match(String(next), /svc gateway token.*svc node run --token/);
    const third = at.startNode();
    assert.equal(await third.ended, 1, "it has no credential any more");
    assert.match(String((await third.until("refused"))["next"]), /svc gateway token/);
  });

  it("waits for an approval again when it was removed and has the gateway's secret", async (t) => {
    const at = await scene(t);
    const { node, nodeId } = await approvedNode(at);
    const first = await node.until("waiting");
    await done(at, ["devices", "remove", nodeId]);
    const second = await node.until("waiting", 1);
    assert.notEqual(second["requestId"], first["requestId"]);
    await done(at, String(second["next"]).split(" ").slice(1));
    assert.equal((await node.until("connected", 1))["nodeId"], nodeId);
  });
});

describe("svc nodes run with an approval", () => {
  /** A node whose policy asks, an operator who sees questions, and a program that counts its runs. */
  async function asking(t: TestContext) {
    const at = await scene(t);
    at.program("tool", 'echo run >> "$PWD/runs"; echo "$1"');
    const { nodeId } = await approvedNode(at);
    await done(at, ["approvals", "security", "allowlist", "--ask", "on-miss", "--node", nodeId]);
    const person = await at.operator();
    const asked: string[] = [];
    const answers = async (decision: string) => {
      const { id } = await new Promise<{ id: string }>((resolve) => {
        const stop = person.on(execApprovalRequested, (question) => {
          stop();
          resolve(question);
        });
      });
      asked.push(id);
      await person.call(execApproval.resolve, { id, decision });
      return id;
    };
    const run = (...args: string[]) => at.svc(["nodes", "run", "workshop", "--", "tool", ...args]);
    const runs = () => {
      try {
        return readFileSync(join(at.nodeDir, "runs"), "utf8").split("\n").length - 1;
      } catch {
        return 0;
      }
    };
    return { at, nodeId, person, answers, run, runs, asked };
  }

  it("runs a command allowed once, and never again with the same approval", async (t) => {
    const { at, nodeId, person, answers, run, runs } = await asking(t);
    const [id, ran] = await Promise.all([answers("allow-once"), run("hello")]);
    assert.deepEqual([ran.code, ran.stdout], [0, "hello\n"]);
    assert.match(ran.stderr, new RegExp(`waiting for an approval: svc approvals allow ${id}`));
    const plan = { command: ["tool", "hello"], cwd: realpathSync(at.nodeDir) };
    const again = {
      nodeId,
      command: "system.run",
      params: { ...plan, runId: id, approved: true, approvalDecision: "allow-once" },
    };
    await assert.rejects(person.call(nodes.invoke, again), { code: "INVALID_REQUEST" });
    const bare = { nodeId, command: "system.run", params: { ...plan, approved: true } };
    await assert.rejects(person.call(nodes.invoke, bare), { code: "INVALID_REQUEST" });
    assert.equal(runs(), 1);
  });

  it("does not ask again for a command that is always allowed", async (t) => {
    const { at, nodeId, person, answers } = await asking(t);
    const path = realpathSync("/usr/bin/basename");
    const run = (word: string) => at.svc(["nodes", "run", "workshop", "--", "basename", word]);
    const [, first] = await Promise.all([answers("allow-always"), run("1")]);
    assert.deepEqual([first.code, first.stdout], [0, "1\n"]);
    const second = await run("1");
    assert.deepEqual(second, { code: 0, stdout: "1\n", stderr: "" });
    const { file } = (await person.call(execApprovals.nodeGet, { nodeId })) as {
      file: { agents: { main: { allowlist: AllowedProgram[] } } };
    };
    assert.deepEqual(
      file.agents.main.allowlist.map(({ pattern, args, anyArguments }) => ({ pattern, args, anyArguments })),
      [{ pattern: path, args: ["1"], anyArguments: undefined }],
    );
    assert.ok(readFileSync(join(at.nodeDir, "exec-approvals.json"), "utf8").includes(path));
  });

  it("runs the bytes that were shown; allow-always covers no others", async (t) => {
    const { at, person, answers, run, runs } = await asking(t);
    const [id, first] = await Promise.all([answers("allow-always"), run("1")]);
    assert.deepEqual([first.code, first.stdout], [0, "1\n"]);
    const again = await run("1");
    assert.deepEqual([again.code, again.stdout], [0, "1\n"]);
    const { approvals } = await person.call(execApproval.list, {});
    const [file] = approvals.find((row) => row.id === id)?.request.files ?? [];
    assert.deepEqual([file?.path.endsWith("/bin/tool"), file?.runs], [true, true]);

    const evil = () => at.program("tool", 'touch "$PWD/evil"');
    at.program("tool", "echo two");
    const changing = person.on(execApprovalRequested, () => void evil());
    const [, second] = await Promise.all([answers("allow-once"), run("1")]);
    changing();
    assert.equal(second.code, 1);
    assert.match(second.stderr, /policy denies it: .*tool.* changed since the command was judged/);
    assert.equal(runs(), 2);
    assert.ok(!existsSync(join(at.nodeDir, "evil")));
  });

  it("is answered on the command line, for exactly the command shown there", async (t) => {
    const { at, runs } = await asking(t);
    let allowing: Promise<string> | undefined;
    const ran = await at.svc(
      ["nodes", "run", "workshop", "--env", "MODE=secret-value", "--", "tool", "a;b"],
      (text) => {
        const [, id] = /svc approvals allow (\S+)/.exec(text) ?? [];
        if (id !== undefined) allowing ??= done(at, ["approvals", "allow", id]);
      },
    );
    assert.match((await allowing) ?? "", /allowed once: tool 'a;b'/);
    assert.deepEqual([ran.code, ran.stdout], [0, "a;b\n"]);
    assert.equal(runs(), 1);
    assert.ok(!(await done(at, ["approvals", "list", "--json"])).includes("secret-value"));
  });

  const refusals: [why: string, args: readonly string[], message: RegExp, exitCode?: number][] = [
    ["no answer in time", ["workshop", "--ask-timeout", "300", "--", "tool", "x"], /nobody answered/],
    ["no wait", ["workshop", "--no-wait", "--", "tool", "x"], /approval is required/],
    ["a node that is not there", ["garage", "--", "ls"], /no node "garage"/],
    ["a program that is not there", ["workshop", "--", "no-such-program"], /program .* not found/],
    ["a directory that is not there", ["workshop", "--cwd", "/no/such", "--", "tool"], /not a directory/],
    [
      "a variable that steers programs",
      ["workshop", "--env", "LD_PRELOAD=/x", "--", "tool"],
      /LD_PRELOAD may not be set/,
      2,
    ],
  ];
  it("does not run a command that is denied, not answered, or not to be asked for; each refusal names the next step", async (t) => {
    const { at, person, answers, run, runs } = await asking(t);
    const seen: string[] = [];
    person.on(execApprovalRequested, ({ id }) => void seen.push(id));
    const [, denied] = await Promise.all([answers("deny"), run("x")]);
    assert.equal(denied.code, 1);
    assert.match(denied.stderr, /was denied\nNext: /);
    for (const [why, args, message, exitCode = 1] of refusals) {
      const { code, stderr } = await at.svc(["nodes", "run", ...args]);
      assert.equal(code, exitCode, why);
      assert.match(stderr, message, why);
      assert.match(stderr, /^Next: /m, why);
    }
    assert.equal(seen.length, 2, "the denied command and the one without an answer");
    assert.equal(runs(), 0);
  });
});
