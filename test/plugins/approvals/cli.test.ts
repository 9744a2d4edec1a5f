/** `svc approvals` against a real gateway. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, it, type TestContext } from "node:test";
import { defineContract, definePlugin, type Plugin, Type } from "@svc/sdk";
import {
  type ApprovalGrantRow,
  type ApprovalRow,
  execApproval,
  execApprovals,
  type ExecPolicySnapshot,
} from "@svc/sdk/approvals";
import type { CommandContext, DoctorFinding } from "@svc/sdk/cli";
import { Approver } from "@svc/sdk/gateway";
import { type CommandRunOptions, runCommand, testGateway } from "@svc/sdk/testing";
import commands from "../../../plugins/approvals/cli.ts";
import { type Asked, findingsOf } from "../../../plugins/approvals/cli-doctor.ts";
import { nodeNamed } from "../../../plugins/approvals/cli-policy.ts";
import { approvalLines, grantLines, policyLines } from "../../../plugins/approvals/cli-text.ts";
import { watchQuestions } from "../../../plugins/approvals/cli-watch.ts";
import approvals from "../../../plugins/approvals/plugin.ts";
import { until as untilSo } from "../webhook-scene.ts";
import { nodeRequest } from "./scene.ts";

/** Asks as a gate does, and offers a grant for the session. */
const asker = definePlugin({
  id: "asker",
  api: "^1.0.0",
  requires: { approver: Approver },
  setup(gateway) {
    const ask = { summary: "asks", scope: "operator.read", params: Type.Unknown(), result: Type.Unknown() } as const;
    const session = { title: "every tell", subject: { tool: "tell" } };
    const question = { title: "tell", kind: "tell", askedBy: "asker", sessionKey: "s", session };
    gateway.serve(defineContract("asker", { ask }), {
      ask: ({ params }) => gateway.services.approver.ask({ ...question, subject: params }),
    });
  },
});

async function start(t: TestContext, plugins: readonly Plugin[] = []) {
  const { client, connect, stateDir } = await testGateway(t, { plugins: ["storage-sqlite", approvals, ...plugins] });
  const run = (name: string, given: CommandRunOptions = {}) =>
    runCommand(commands, `approvals ${name}`, { connect, ...given });
  const pending = async () =>
    (await client.call(execApproval.list, {})).approvals.filter(({ status }) => status === "pending").length;
  /** Asks, and waits until `count` questions are pending. */
  const asked = async (id = "a", count = 1) => {
    const answer = client.call(execApproval.request, { ...nodeRequest, id });
    while ((await pending()) !== count);
    return { answer };
  };
  return { run, stateDir, client, connect, asked, pending };
}

type Scene = Awaited<ReturnType<typeof start>>;
const RM = "/usr/bin/rm -r 'build dir'";

describe("questions that nobody can answer", () => {
  const asking: Asked = { policy: { version: 1, defaults: { security: "allowlist" } }, connected: 0, paired: [] };
  const phone = (scopes: string[], revokedAtMs?: number) => ({
    deviceId: "phone",
    tokens: [{ role: "operator", scopes, createdAtMs: 1, ...(revokedAtMs === undefined ? {} : { revokedAtMs }) }],
  });
  const off: Asked = { ...asking, policy: { version: 1, defaults: { security: "full", ask: "off" } } };
  const rows: [what: string, seen: Asked, count: number][] = [
    ["nobody is connected or paired", asking, 1],
    ["somebody who may decide is connected", { ...asking, connected: 1 }, 0],
    ["a device that may decide is paired", { ...asking, paired: [phone(["operator.approvals"])] }, 0],
    ["a paired device may only read", { ...asking, paired: [phone(["operator.read"])] }, 1],
    ["its token was revoked", { ...asking, paired: [phone(["operator.admin"], 2)] }, 1],
    ["the list has another device", { ...asking, listed: ["tablet"], paired: [phone(["operator.approvals"])] }, 1],
    ["the list has it", { ...asking, listed: ["phone"], paired: [phone(["operator.approvals"])] }, 0],
    ["people in chats may decide", { ...asking, inChats: { enabled: true, approvers: ["telegram:1"] } }, 0],
    ["chats show it, and nobody may decide there", { ...asking, inChats: { enabled: true } }, 1],
    ["chats are off", { ...asking, inChats: { approvers: ["telegram:1"] } }, 1],
    [
      "chats show requests of another agent",
      { ...asking, inChats: { enabled: true, approvers: ["telegram:1"], agentFilter: ["other"] } },
      1,
    ],
    ["the file asks nobody", off, 0],
    ["the file asks nobody, and tools.exec.ask does", { ...off, execAsk: "always" }, 1],
    ["all is denied", { ...asking, policy: { version: 1 }, execAsk: "always" }, 0],
  ];
  it("are reported only where commands need an approval and nobody who may decide is connected or paired", () => {
    for (const [what, seen, count] of rows) assert.equal(findingsOf(seen).length, count, what);
  });
});

describe("svc approvals", () => {
  it("list shows pending questions with all details, and the others; an answer that does not count is refused with the next step", async (t) => {
    const { run, asked } = await start(t);
    assert.deepEqual((await run("list")).printed, ["no question waits for an answer"]);
    const { answer } = await asked("abc-1");
    const { text, scopes } = await run("list");
    assert.deepEqual(scopes, ["operator.approvals"]);
    const parts = ["abc-1", RM, '"build dir"', "/srv", "TOKEN", "node node-1", "agent        main"];
    for (const part of [...parts, "svc approvals allow abc-1"]) assert.ok(text.includes(part), `${part} in ${text}`);
    await run("deny", { args: ["abc-1"] });
    assert.equal((await answer).decision, "deny");
    assert.match((await run("list")).text, /no question waits[\s\S]*answered or expired:\n.*deny by cli/);
    const late = await run("allow", { args: ["abc-1"] });
    assert.match(late.message, /already decided: deny by cli.*\nNext: svc approvals list/);
    const unknown = await run("allow", { args: ["zzz"] });
    assert.equal(unknown.message, "no approval has this id\nNext: svc approvals list");
    assert.match((await run("allow", { args: [""] })).message, /an id, or the beginning of one, is missing/);
    assert.match((await run("list", { options: { limit: "0" } })).message, /--limit takes/);
  });

  it("allow and deny accept an id or a unique prefix", async (t) => {
    const { run, asked } = await start(t);
    const first = await asked("abc-1", 1);
    const second = await asked("abd-2", 2);
    const third = await asked("b", 3);
    const two = await run("allow", { args: ["ab"] });
    assert.match(two.message, /2 ids start with ab: .*\nNext: give more characters; svc approvals list/);
    const once = await run("allow", { args: ["abc"] });
    assert.deepEqual([once.printed, once.scopes], [[`allowed once: ${RM}`], ["operator.approvals"]]);
    assert.match((await run("deny", { args: ["abd-2"] })).text, /^denied: /);
    const json = await run("allow", { args: ["b"], options: { always: true }, json: true });
    assert.deepEqual(json.printed, [{ id: "b", decision: "allow-always", command: RM }]);
    const answers = await Promise.all([first.answer, second.answer, third.answer]);
    const decisions = answers.map(({ decision }) => decision);
    assert.deepEqual(decisions, ["allow-once", "deny", "allow-always"]);
  });

  it("doctor reports that commands need an approval and no approver could answer", async (t) => {
    const { run, client, connect } = await start(t);
    const doctor = async (options: Record<string, unknown> = { running: true }) =>
      (await run("doctor", { options, json: true })).printed as [{ findings: DoctorFinding[] }];
    await client.close();
    await run("security", { args: ["allowlist"], options: { ask: "on-miss" } });
    assert.deepEqual(await doctor({}), [{ findings: [] }]);
    const [{ findings }] = await doctor();
    assert.match(findings[0]?.message ?? "", /commands of agent main need an approval, and nobody can answer/);
    assert.match(findings[0]?.next ?? "", /^svc approvals watch/);
    await connect({ scopes: ["operator.approvals"] });
    assert.deepEqual(await doctor(), [{ findings: [] }]);
  });

  it("grants lists grants, forget ends one", async (t) => {
    const { run, asked } = await start(t);
    assert.deepEqual((await run("grants")).printed, ["no grants: nothing is allowed for longer than once"]);
    await asked();
    await run("allow", { args: ["a"], options: { always: true } });
    const { text, scopes } = await run("grants");
    assert.match(
      text,
      /^[0-9a-f]{64}\n {2}\/usr\/bin\/rm .*\n {2}exec, agent main, .*node-1\n {2}until .* \(in 89 d\), since .* by cli/,
    );
    assert.deepEqual(scopes, ["operator.admin"]);
    const digest = text.slice(0, 64);
    const ended = await run("forget", { args: [digest.slice(0, 6)] });
    assert.match(ended.text, new RegExp(`^ended the grant ${digest}`));
    assert.match((await run("forget", { args: [digest] })).message, /Next: svc approvals grants/);
  });

  it("allow --for and --session set the duration; an invalid time and a session that is not offered are refused", async (t) => {
    const { run, asked } = await start(t);
    const { answer } = await asked();
    const allow = (options: Record<string, unknown>) => run("allow", { args: ["a"], options });
    for (const time of ["", "60", "59s", "91d", "soon"])
      assert.match((await allow({ for: time })).message, /--for takes a time from 1m to 90d; e\.g\. --for 1h/, time);
    for (const options of [{ for: "1h" }, { session: true }])
      assert.match(
        (await allow({ always: true, ...options })).message,
        /cannot be combined with --for or --session\nNext: /,
      );
    assert.match((await allow({ session: true })).message, /offers no grant for the session/);
    assert.doesNotMatch((await run("list")).text, /--session/);
    assert.deepEqual((await allow({ for: "1h30m" })).printed, [`allowed for 1h30m: ${RM}`]);
    assert.equal((await answer).decision, "allow-once");
    assert.match((await run("list")).text, /allowed until .*Z by cli {2}\/usr/);
    assert.match((await run("grants")).text, /until .*Z \(in 1 h\)/);
    const [{ grants }] = (await run("grants", { json: true })).printed as [{ grants: ApprovalGrantRow[] }];
    const { for: what, createdAtMs, expiresAtMs } = grants[0] ?? assert.fail();
    assert.deepEqual([what, Math.round((expiresAtMs - createdAtMs) / 1_000), grants.length], ["this", 5_400, 1]);
  });

  it("allow --session allows what the question offers, and so does s", async (t) => {
    const scene = await start(t, [asker]);
    const first = scene.client.request("asker.ask", { to: "ann" });
    while ((await scene.pending()) !== 1);
    const { text } = await scene.run("list");
    assert.match(text, /for session {2}every tell\n[^]*allow \S+ \(or with --session, --for 1h or --always; or deny\)/);
    const [id = ""] = text.split("\n");
    const allowed = await scene.run("allow", { args: [id], options: { session: true } });
    assert.deepEqual(allowed.printed, ["allowed for 1h: every tell"]);
    assert.deepEqual(await first, { id, decision: "allow-once" });
    const unasked = (await scene.client.request("asker.ask", { to: "bob" })) as { isGranted?: boolean };
    assert.equal(unasked.isGranted, true);
    const grants = await scene.run("grants");
    assert.match(grants.text, /\n {2}every tell\n {2}question:tell, session s\n {2}until .*Z \(in 59 min\)/);
    await scene.run("forget", { args: [grants.text.slice(0, 64)] });

    const { input, until, ended } = watch(scene);
    await until(/Waiting for questions/);
    const second = scene.client.request("asker.ask", { to: "cid" });
    await until(/Allow\? y: once, s: every tell for 1 h, always/);
    input.write("s\n");
    assert.equal(((await second) as { decision: string }).decision, "allow-once");
    await until(/allowed until .*Z by cli: every tell/);
    input.end();
    await ended;
  });

  const bad: [what: string, options: Record<string, unknown>, input: string, message: RegExp][] = [
    ["no file", {}, "", /--file is missing\nNext: svc approvals get/],
    ["a file that is not there", { file: "/no/such/file" }, "", /cannot be read \(ENOENT\)\nNext: /],
    ["no JSON", { file: "-" }, "{", /standard input is not JSON\nNext: /],
    ["another JSON", { file: "-" }, '{"version":2}', /is not a policy file\nNext: svc approvals get/],
    ["a blank node", { file: "-", node: " " }, '{"version":1}', /--node takes the name or id/],
    ["a node without the plugin", { file: "-", node: "n" }, '{"version":1}', /svc plugins why nodes/],
  ];
  it("get and set read and replace the policy file; set names the fault of its input", async (t) => {
    const { run, stateDir } = await start(t);
    const shown = await run("get");
    assert.match(shown.text, /^file .*exec-approvals\.json\nhash {6}[0-9a-f]{64}\ndefaults {2}none: security deny/);
    const [snapshot] = (await run("get", { json: true })).printed as [ExecPolicySnapshot];
    const path = join(stateDir, "new.json");
    const file = { ...snapshot.file, agents: { main: { security: "allowlist", ask: "off" } } };
    await writeFile(path, JSON.stringify({ ...snapshot, file }));
    assert.match((await run("set", { options: { file: path } })).text, /agent main {2}security allowlist, ask off/);
    const older = await run("set", { options: { file: path } });
    assert.match(older.message, /changed since/);
    const bare = JSON.stringify({ version: 1, defaults: { security: "deny" } });
    assert.match((await run("set", { options: { file: "-" }, input: bare })).text, /defaults {2}security deny/);
    for (const [what, options, input, message] of bad)
      assert.match((await run("set", { options, input })).message, message, what);
  });

  const entries = async (run: Scene["run"], agent = "main") => {
    const [{ file }] = (await run("get", { json: true })).printed as [ExecPolicySnapshot];
    return (file.agents?.[agent]?.allowlist ?? []).map(({ id, ...entry }) => (assert.ok(id), entry));
  };

  it("allowlist adds and removes programs, requires a profile, exact arguments or --any-arguments, and explains the effect", async (t) => {
    const { run } = await start(t);
    const add = await run("allowlist add", { args: ["/usr/bin/rg"] });
    assert.match(add.text, /^added \/usr\/bin\/rg for main\nsecurity of main is deny.*Next: /);
    assert.match((await run("allowlist add", { args: ["/usr/bin/rg"] })).text, /already allowed; nothing changed/);
    await run("allowlist add", { args: ["~/tools/*"], options: { agent: "*", anyArguments: true } });
    const patterns = async (agent: string) => (await entries(run, agent)).map(({ pattern }) => pattern);
    assert.deepEqual([await patterns("main"), await patterns("*")], [["/usr/bin/rg"], ["~/tools/*"]]);
    assert.match((await run("allowlist add", { args: ["rg"] })).message, /has no directory.*\/usr\/bin\/rg.*\nNext: /s);
    assert.match((await run("allowlist remove", { args: ["/usr/bin/rg"] })).text, /^removed \/usr\/bin\/rg for main$/);
    const gone = await run("allowlist remove", { args: ["/usr/bin/rg"] });
    assert.match(gone.message, /no such entry.*\nNext: svc approvals get/);
    const nobody = { args: ["/bin/cat"], options: { agent: " " } };
    assert.match((await run("allowlist add", nobody)).message, /--agent takes/);

    const refused = await run("allowlist add", { args: ["/usr/bin/git"] });
    const ways = [
      "/usr/bin/git has no profile",
      "a program with a profile, in a system directory: [ ",
      "exactly these arguments: svc approvals allowlist add /usr/bin/git -- <arguments>",
      "any arguments, and thereby any command: svc approvals allowlist add /usr/bin/git --any-arguments",
    ];
    for (const way of ways) assert.ok(refused.message.includes(way), `${way} in ${refused.message}`);
    const wrong: [args: string[], any: boolean, message: RegExp][] = [
      [["/usr/bin/python3"], true, /executes code given in its arguments, so anyArguments never applies.*\nNext: /],
      [["/bin/sh", "x"], true, /has both args and anyArguments; remove one of them\nNext: /],
      [["/bin/sh"], false, /has no profile.*no entry: ask people/s],
      [["/bin/sh", "-c", "ls"], false, /needs a script outside the workspace.*\nNext: /],
    ];
    for (const [args, anyArguments, message] of wrong) {
      const failed = await run("allowlist add", { args, options: { anyArguments } });
      assert.match(failed.message, message);
      assert.deepEqual(failed.scopes, [], "no gateway was asked");
    }

    const exact = await run("allowlist add", { args: ["/usr/bin/git", "status", "-s"] });
    assert.match(exact.text, /^added \/usr\/bin\/git {2}exactly: status -s for main\nOnly these exact arguments/);
    const any = await run("allowlist add", { args: ["/usr/bin/git"], options: { anyArguments: true } });
    assert.match(any.text, /^added \/usr\/bin\/git {2}any arguments for main\nThis allows any command/);
    await run("allowlist add", { args: ["/opt/job"], options: { exact: true } });
    await run("allowlist add", { args: ["/usr/bin/rg"] });
    assert.deepEqual(await entries(run), [
      { pattern: "/usr/bin/git", args: ["status", "-s"] },
      { pattern: "/usr/bin/git", anyArguments: true },
      { pattern: "/opt/job", args: [] },
      { pattern: "/usr/bin/rg" },
    ]);
    const { text } = await run("get");
    for (const line of ["git  exactly: status -s\n", "git  any arguments\n", "job  exactly: no arguments\n", "/rg"]) {
      assert.ok(text.includes(line), `${line} in ${text}`);
    }
    await run("allowlist remove", { args: ["/usr/bin/git", "status", "-s"] });
    assert.deepEqual((await entries(run))[0], { pattern: "/usr/bin/git", anyArguments: true });
    assert.match((await run("allowlist remove", { args: ["/opt/job", "x"] })).message, /no such entry/);
    await run("allowlist remove", { args: ["/usr/bin/git"], options: { anyArguments: true } });
    await run("allowlist remove", { args: ["/opt/job"] });
    assert.deepEqual(await entries(run), [{ pattern: "/usr/bin/rg" }]);
  });

  it("allowlist add binds an entry to a content, in addition to its arguments", async (t) => {
    const { run } = await start(t);
    const sha256 = "AB".repeat(32);
    const lower = sha256.toLowerCase();
    const add = (options: object, ...args: string[]) => run("allowlist add", { args, options: { sha256, ...options } });
    const refused = await add({}, "/w/x.sh");
    for (const way of [`x.sh --sha256 ${lower} -- <arguments>`, `x.sh --sha256 ${lower} --any-arguments`]) {
      assert.ok(refused.message.includes(way), `${way} in ${refused.message}`);
    }
    const text =
      /^added \/w\/x\.sh {2}any arguments {2}sha256 (ab){32} for main\n.*any command.*\nThe entry applies while /;
    assert.match((await add({ anyArguments: true }, "/w/x.sh")).text, text);
    assert.match((await add({ anyArguments: true }, "/w/x.sh")).text, /is already allowed/);
    await add({ exact: true }, "/w/x.sh");
    await add({}, "/bin/sh", "x.sh", "1");
    await run("allowlist add", { args: ["/w/x.sh"], options: { exact: true } });
    const script = { pattern: "/bin/sh", args: ["x.sh", "1"], sha256: lower };
    assert.deepEqual(await entries(run), [
      { pattern: "/w/x.sh", anyArguments: true, sha256: lower },
      { pattern: "/w/x.sh", args: [], sha256: lower },
      script,
      { pattern: "/w/x.sh", args: [] },
    ]);
    assert.ok((await run("get")).text.includes(`  /bin/sh  exactly: x.sh 1  sha256 ${lower}\n`));
    for (const wrong of ["", "abc", "g".repeat(64), `${sha256}0`]) {
      const { message } = await run("allowlist add", { args: ["/w/x.sh"], options: { sha256: wrong } });
      assert.match(message, /--sha256 takes 64 hexadecimal digits\nNext: sha256sum/);
    }
    for (const args of [["/bin/sh", "-c", "x"], ["/bin/sh"], ["/usr/bin/deno", "run", "x.ts"]])
      assert.match((await add({ exact: true }, ...args)).message, /needs the script with the given hash/);
    assert.match((await add({ anyArguments: true }, "/bin/sh")).message, /never applies/);
    await run("allowlist remove", { args: ["/w/x.sh"], options: { sha256 } });
    assert.deepEqual(await entries(run), [script, { pattern: "/w/x.sh", args: [] }]);
  });

  it("get and doctor name entries that allow nothing, and the command to fix them", async (t) => {
    const { run, client } = await start(t);
    const allowlist = [{ pattern: "/usr/bin/git" }, { pattern: "/usr/bin/rg" }, { pattern: "~/tools/*" }];
    const { hash } = await client.call(execApprovals.get, {});
    const file = { version: 1 as const, agents: { main: { security: "allowlist", ask: "off", allowlist } } };
    await client.call(execApprovals.set, { file, baseHash: hash });
    assert.match((await run("get")).text, /git {2}allows nothing: no profile; .*\n {2}\/usr\/bin\/rg\n/);
    const doctor = async () => {
      const { printed } = await run("doctor", { options: { running: true }, json: true });
      return (printed as [{ findings: DoctorFinding[] }])[0].findings;
    };
    const [finding, ...more] = await doctor();
    assert.deepEqual(more, []);
    assert.match(finding?.message ?? "", /^these entries allow nothing.*: \/usr\/bin\/git, ~\/tools\/\*$/);
    assert.match(
      finding?.next ?? "",
      /^svc approvals allowlist add \/usr\/bin\/git --agent main -- .*; or .* --any-arguments/,
    );
    await run("allowlist add", { args: ["/usr/bin/git", "status"] });
    await run("allowlist remove", { args: ["~/tools/*"] });
    assert.deepEqual(await doctor(), [], "the entry that allowed nothing was replaced");
    assert.deepEqual(await entries(run), [{ pattern: "/usr/bin/rg" }, { pattern: "/usr/bin/git", args: ["status"] }]);
  });
});

describe("svc approvals watch", () => {
  it("counts as an approver, shows a question with all details, and answers with a line", async (t) => {
    const scene = await start(t);
    const { input, until, ended, notes } = watch(scene);
    await until(/Waiting for questions/);
    const { answer } = await scene.asked("abc-1");
    await until(/abc-1\n {2}command {6}\/usr\/bin\/rm -r 'build dir'[^]*Allow\?/);
    input.write("maybe\nyes\n");
    assert.equal((await answer).decision, "allow-once");
    await until(/allowed once by cli: /);
    assert.equal(notes.filter((note) => note.startsWith("Allow?")).length, 2, "asked again after what is no answer");
    input.write("y\n");
    await until(/No question is pending/);
    input.end();
    assert.equal(await ended, 0);
  });

  it("starts with the pending questions, and prints events as lines with --json", async (t) => {
    const scene = await start(t);
    await scene.asked("abc-1");
    const { until, printed, notes } = watch(scene, true);
    await until(/abc-1/);
    await scene.run("deny", { args: ["abc-1"] });
    await until(/"ended"/);
    const events = printed.map(
      (line) => JSON.parse(line) as { event: string; question: { id: string }; decision?: string },
    );
    const seen = events.map(({ event, question, decision }) => [event, question.id, decision].join(" "));
    assert.deepEqual(seen, ["asked abc-1 ", "ended abc-1 deny"]);
    assert.deepEqual(notes, []);
  });
});

function watch(scene: Scene, json = false) {
  const input = new PassThrough();
  const printed: string[] = [];
  const notes: string[] = [];
  const add = (to: string[]) => (value: unknown) =>
    void to.push(typeof value === "string" ? value : JSON.stringify(value));
  const until = (pattern: RegExp) => untilSo(() => pattern.test([...printed, ...notes].join("\n")), String(pattern));
  const context = {
    json,
    input: Object.assign(input, { isTTY: true }),
    connect: scene.connect,
    print: add(printed),
    note: add(notes),
  };
  const ended = watchQuestions(context as unknown as CommandContext); // the parts the command uses
  return { input, printed, notes, until, ended };
}

describe("text of clients", () => {
  const evil = "\u001b[2J\u202egpj.exe\r\nNext: svc approvals allow x";
  const evilParts = <Key extends string>(...keys: Key[]) =>
    Object.fromEntries(keys.map((key) => [key, evil])) as Record<Key, string>;
  const turn = ["turnSourceChannel", "turnSourceTo", "turnSourceAccountId", "turnSourceThreadId"] as const;
  const row: ApprovalRow = {
    ...evilParts("id", "resolvedBy", "reason"),
    status: "pending",
    createdAtMs: 0,
    expiresAtMs: 1e300,
    request: {
      ...evilParts("askedBy", "session", "cwd", "nodeId", "host", "security", "ask", "agentId", "resolvedPath"),
      ...evilParts("sessionKey", ...turn),
      command: `${evil}${"x".repeat(100_000)}`,
      commandArgv: [evil],
      envKeys: [evil],
      systemRunBinding: null,
      systemRunPlan: null,
    },
  };

  it("cannot control a terminal, forge a line, or fill the screen", () => {
    const grant = {
      ...evilParts("digest", "command", "kind", "agentId", "sessionKey", "nodeId", "createdBy"),
      for: "session" as const,
      createdAtMs: 0,
      expiresAtMs: 1e300,
    };
    const rules = { security: evil, allowlist: [{ pattern: evil }] };
    const file = { version: 1 as const, agents: { [evil]: rules } };
    const lines = [
      ...approvalLines({ approvals: [row, { ...row, status: "decided" }] }),
      ...grantLines({ grants: [grant] }, 0),
      ...policyLines({ path: evil, exists: true, hash: evil, file }),
    ];
    for (const line of lines) assert.doesNotMatch(line, /\p{Cc}|\u202e|^Next: svc approvals allow x/u);
    const shell = approvalLines({ approvals: [{ ...row, id: "x; rm -rf ~" }] }).at(-1);
    assert.match(shell ?? "", /allow 'x; rm -rf ~' /, "what it says can be copied to a shell");
    assert.ok(lines.join("\n").length < 20_000);
    assert.match(lines.join("\n"), /more characters; see --json/);
  });
});

describe("svc approvals security", () => {
  const rulesOf = (printed: readonly unknown[], agent: string) =>
    (printed[0] as ExecPolicySnapshot).file.agents?.[agent];

  it("sets the rules of one agent and nothing else; refuses other words, naming the valid values, and writes nothing then", async (t) => {
    const { run } = await start(t);
    await run("allowlist add", { args: ["/usr/bin/rg"], options: { agent: "ops" } });
    const { printed } = await run("security", {
      args: ["allowlist"],
      options: { agent: "ops", ask: "always", fallback: "allowlist" },
      json: true,
    });
    const { allowlist = [], ...rules } = rulesOf(printed, "ops") ?? {};
    assert.deepEqual(rules, { security: "allowlist", ask: "always", askFallback: "allowlist" });
    assert.deepEqual([allowlist.length, allowlist[0]?.pattern], [1, "/usr/bin/rg"]);
    const again = await run("security", { args: ["full"], options: { agent: "ops" }, json: true });
    assert.deepEqual([rulesOf(again.printed, "ops")?.security, rulesOf(again.printed, "ops")?.ask], ["full", "always"]);
    assert.equal(rulesOf(again.printed, "main"), undefined);

    const before = await run("get", { json: true });
    const wrong: CommandRunOptions[] = [
      { args: ["FULL"] },
      { args: [""] },
      { args: ["deny"], options: { ask: "sometimes" } },
      { args: ["deny"], options: { fallback: "*" } },
    ];
    for (const given of wrong) assert.match((await run("security", given)).message, /deny|off/, JSON.stringify(given));
    assert.deepEqual((await run("get", { json: true })).printed, before.printed);
  });
});

describe("--node", () => {
  const listed = [
    { nodeId: "aa11", displayName: "laptop" },
    { nodeId: "aa22", displayName: "queue" },
    { nodeId: "bb33", displayName: "queue" },
  ];
  const client = { call: () => Promise.resolve({ nodes: listed }) } as unknown as Parameters<typeof nodeNamed>[0]; // all it asks for

  it("takes an id, a name or the unique beginning of an id, and refuses all else with what to do", async () => {
    const found = [
      ["aa11", "aa11"],
      ["laptop", "aa11"],
      ["bb", "bb33"],
      [undefined, undefined],
    ] as const;
    for (const [node, nodeId] of found) assert.equal(await nodeNamed(client, { node }), nodeId);
    const refused: [node: unknown, says: string][] = [
      ["aa", "2 nodes match: aa11, aa22"],
      ["queue", "2 nodes match: aa22, bb33"],
      ["Laptop", 'no node "Laptop"'],
      [" ", "takes the name or id"],
      [true, "takes the name or id"],
    ];
    for (const [node, says] of refused)
      await assert.rejects(nodeNamed(client, { node }), { message: new RegExp(`${says}.*\nNext: .*svc nodes list`) });
  });
});
