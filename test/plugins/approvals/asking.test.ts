import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { envHash, planDigest, questionLines } from "@svc/kit/exec";
import type { ConnectionInfo, ParamsOf, Principal } from "@svc/sdk";
import type { execApproval } from "@svc/sdk/approvals";
import * as fc from "fast-check";
import { approversAmong, mayDecide } from "../../../plugins/approvals/approvers.ts";
import { askedCommand, askedQuestion } from "../../../plugins/approvals/asking.ts";
import { canonicalJson } from "../../../plugins/approvals/canonical.ts";
import { nodeRequest, plan, SECRET } from "./scene.ts";

type Params = ParamsOf<typeof execApproval.request>;

describe("a command for a node", () => {
  it("uses the values of its plan, not the params of the same name", () => {
    const lies: Params = {
      ...nodeRequest,
      command: "ls",
      commandArgv: ["ls"],
      cwd: "/home",
      agentId: "other",
      sessionKey: "other",
    };
    const { view, digest, plan: bound } = askedCommand(lies);
    const hash = envHash({ TOKEN: SECRET });
    const { argv, cwd, agentId, sessionKey } = plan;
    assert.deepEqual(view, {
      command: "/usr/bin/rm -r 'build dir'",
      commandArgv: argv,
      envKeys: ["TOKEN"],
      digest: planDigest({ argv, cwd, agentId, sessionKey, envHash: hash, nodeId: "node-1" }),
      systemRunBinding: { argv, cwd, agentId, sessionKey, envHash: hash },
      systemRunPlan: plan,
      cwd,
      nodeId: "node-1",
      host: "node",
      security: null,
      ask: null,
      agentId,
      resolvedPath: null,
      sessionKey,
      turnSourceChannel: null,
      turnSourceTo: null,
      turnSourceAccountId: null,
      turnSourceThreadId: null,
    });
    assert.deepEqual([digest, bound], [view.digest, plan]);
  });

  it("is shown by its raw command when that is its text", () => {
    const raw = { ...plan, argv: ["/bin/sh", "-c", "ls | wc"], rawCommand: "ls | wc" };
    assert.equal(askedCommand({ ...nodeRequest, systemRunPlan: raw }).view.command, "ls | wc");
  });

  const refused: [what: string, changes: Partial<Params>, message: RegExp][] = [
    ["no node", { nodeId: null }, /nodeId/],
    ["no plan", { systemRunPlan: undefined } as unknown as Partial<Params>, /systemRunPlan/],
    ["an empty argv", { systemRunPlan: { ...plan, argv: [] } }, /argv/],
    ["a blank program", { systemRunPlan: { ...plan, argv: [" "] } }, /argv/],
    ["a text that is of another command", { systemRunPlan: { ...plan, rawCommand: "ls" } }, /rawCommand/],
    ["an endless command", { systemRunPlan: { ...plan, argv: ["x".repeat(300_000)] } }, /into a file/],
  ];
  it("is refused without a node, a plan, a program or a fitting text, and when it is too long", () => {
    for (const [what, changes, message] of refused)
      assert.throws(() => askedCommand({ ...nodeRequest, ...changes }), { code: "INVALID_REQUEST", message }, what);
  });
});

describe("contents of a command for a node", () => {
  const file = { path: "/srv/x.sh", sha256: "a".repeat(64), bytes: 3, runs: true } as const;

  it("are shown, and are part of what is allowed", () => {
    const digestOf = (files: Params["files"]) => askedCommand(files ? { ...nodeRequest, files } : nodeRequest).digest;
    assert.deepEqual(askedCommand({ ...nodeRequest, files: [file] }).view.files, [file]);
    assert.deepEqual(askedCommand({ ...nodeRequest, files: [] }).view.files, [], "none are bound, and none may come");
    const digests = [
      digestOf([file]),
      digestOf([{ ...file, sha256: "b".repeat(64) }]),
      digestOf([{ ...file, path: "/srv/y.sh" }]),
      digestOf([file, { ...file, path: "/srv/y.sh" }]),
      digestOf(undefined),
    ];
    assert.equal(new Set(digests).size, digests.length);
    assert.equal(digestOf([]), digestOf(undefined), "what was allowed before contents were bound stays allowed");
  });

  it("are shown with the content that led to the question, which is not part of what is allowed", () => {
    const question = { title: "x", subject: { files: [file] }, files: [file], kind: "tool:exec", askedBy: "workspace" };
    const asked = askedQuestion({ ...question, because: "a page says: run x" });
    assert.equal(asked.digest, askedQuestion(question).digest);
    const hidden = askedQuestion({ ...question, title: "a\u202eb", because: "c\u200b\u2066d" }).view;
    assert.deepEqual([hidden.command, hidden.because], ["a\\u202eb", "c\\u200b\\u2066d"]);
    const lines = questionLines({ request: asked.view, expiresAtMs: 0 }).map((line) => line.trim().split(/ {2,}/));
    assert.deepEqual(
      lines.filter(([name]) => ["runs", "because"].includes(name ?? "")),
      [
        ["runs", `/srv/x.sh (3 bytes, sha256 ${"a".repeat(64)})`],
        ["because", "a page says: run x"],
      ],
    );
  });

  it("are lines of the question", () => {
    const { view } = askedCommand({
      ...nodeRequest,
      files: [file, { path: "/srv/data\u001b[2J", sha256: "c", bytes: 0 }],
    });
    const lines = questionLines({ request: view, expiresAtMs: 0 }).filter((line) => line.includes("/srv/"));
    const texts = lines.map((line) => line.trim().replaceAll(/ +/g, " "));
    const shown = `runs /srv/x.sh (3 bytes, sha256 ${"a".repeat(64)})`;
    assert.deepEqual(texts, [shown, "file /srv/data\\u001b[2J (0 bytes, sha256 c)"]);
  });
});

describe("a command elsewhere", () => {
  it("has neither node nor plan; empty fields are null", () => {
    for (const host of [undefined, null, "", "gateway", "sandbox", "NODE", " node"]) {
      const given = { ...nodeRequest, cwd: "", agentId: "", turnSourceThreadId: 7 };
      const { view, plan: bound } = askedCommand(host === undefined ? { ...given, host: null } : { ...given, host });
      assert.deepEqual([view.nodeId, view.systemRunPlan, view.systemRunBinding, bound], [null, null, null, null]);
      assert.deepEqual([view.cwd, view.agentId, view.turnSourceThreadId, view.command], [null, null, 7, "rm"]);
      assert.equal(view.host, host === undefined || host === "" ? null : host);
    }
  });
});

describe("canonical JSON", () => {
  it("has exactly one text per value", () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(json, (value) => assert.deepEqual(JSON.parse(canonicalJson(value)), value)),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse());
        assert.equal(canonicalJson(turned), canonicalJson(value));
      }),
    );
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const holes: unknown[] = [];
  holes[2] = 1;
  const refused: [what: string, value: unknown][] = [
    ["undefined", undefined],
    ["undefined in an object", { a: undefined }],
    ["undefined in a list", [undefined]],
    ["a hole in a list", holes],
    ["a list with more", Object.assign([1], { more: 1 })],
    ["NaN", Number.NaN],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a symbol for a key", { [Symbol("x")]: 1 }],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["bytes", new Uint8Array(1)],
    ["a getter", Object.defineProperty({}, "a", { get: () => 1, enumerable: true })],
    ["a hidden key", Object.defineProperty({}, "a", { value: 1 })],
    ["itself", cyclic],
    ["too much", "x".repeat(2_000_000)],
  ];
  it("is made only of what JSON has, in the given form", () => {
    for (const [what, value] of refused) assert.throws(() => canonicalJson(value), { code: "INVALID_REQUEST" }, what);
  });

  it("distinguishes keys that look like numbers or like the prototype", () => {
    const odd = JSON.parse('{"__proto__":1,"10":2,"9":3}') as unknown;
    assert.equal(canonicalJson(odd), '{"10":2,"9":3,"__proto__":1}');
    assert.notEqual(canonicalJson(-0), canonicalJson(0));
  });
});

describe("an approver", () => {
  const principal = (changes: Partial<Principal> = {}): Principal => ({
    id: "token",
    role: "operator",
    scopes: ["operator.approvals"],
    provenance: "token",
    epoch: 1,
    ...changes,
  });

  const lists: [list: readonly string[] | undefined, token: boolean, proven: boolean][] = [
    [undefined, true, true],
    [[], false, false],
    [[""], false, false],
    [["*"], false, false],
    [["Token"], false, false],
    [["connection-1"], false, false],
    [["token"], true, true],
    [["device-1"], false, true],
    [["DEVICE-1"], false, false],
  ];
  it("is on the list by the id of its principal or device, exactly", () => {
    for (const [list, token, proven] of lists) {
      const what = JSON.stringify(list);
      assert.equal(mayDecide(list, principal(), undefined), token, what);
      assert.equal(mayDecide(list, principal(), "device-1"), proven, what);
      assert.equal(mayDecide(list, principal({ device: "device-1" }), undefined), proven, what);
    }
  });

  it("is identified by the principal for users of a proxy and for this machine", () => {
    const user = principal({ id: "trusted-proxy:ada", provenance: "trusted-proxy" });
    assert.equal(mayDecide(["trusted-proxy:ada"], user, undefined), true);
    assert.equal(mayDecide(["ada"], user, undefined), false);
    assert.equal(mayDecide(["local"], principal({ id: "local", provenance: "local" }), undefined), true);
  });

  const never: [what: string, changes: Partial<Principal>][] = [
    ["a plugin", { id: "plugin:x", provenance: "plugin", scopes: ["operator.admin"] }],
    ["a webhook", { id: "webhook:x", provenance: "webhook", scopes: ["operator.approvals"] }],
    ["a node", { role: "node" }],
    ["somebody without the scope", { scopes: ["operator.read", "operator.write", "operator.pairing"] }],
    ["somebody with a scope of that look", { scopes: ["approvals", "operator.*", "*"] }],
  ];
  it("is never a plugin, a webhook, a node or anyone without the scope, listed or not", () => {
    for (const [what, changes] of never) {
      const one = principal(changes);
      assert.equal(mayDecide(undefined, one, "device-1"), false, what);
      assert.equal(mayDecide([one.id, "device-1"], one, "device-1"), false, what);
    }
  });

  it("may be an admin; a blank on the list matches nobody, even if it were an id", () => {
    assert.equal(mayDecide(undefined, principal({ scopes: ["operator.admin"] }), undefined), true);
    for (const id of ["", " ", "*"]) assert.equal(mayDecide([id], principal({ id }), undefined), false);
  });

  it("is found among the open connections", () => {
    const connection = (id: string, who: Principal | undefined): ConnectionInfo => ({
      id,
      remoteAddress: "",
      local: true,
      client: undefined,
      caps: [],
      device: undefined,
      principal: who,
    });
    const all = [connection("1", principal()), connection("2", undefined), connection("3", principal({ scopes: [] }))];
    assert.deepEqual(approversAmong(undefined, all), ["1"]);
    assert.deepEqual(approversAmong([], all), []);
  });
});
