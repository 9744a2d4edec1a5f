/** What the node program and `svc nodes run` decide, without a socket. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedText, type ExecRules, judgeRun, refusedVariable } from "@svc/kit/exec";
import { GatewayError } from "@svc/sdk";
import type { SystemRunPlan } from "@svc/sdk/approvals";
import { judgeRefusal, waitMs } from "../../../../plugins/nodes/node-host/connection-end.ts";
import { childEnvironment } from "../../../../plugins/nodes/node-host/environment.ts";
import { canBeListed, exactEntry, whyNot } from "../../../../plugins/nodes/node-host/judgement.ts";
import { stateLine } from "../../../../plugins/nodes/node-host/node-states.ts";
import { nodeTarget } from "../../../../plugins/nodes/node-host/target.ts";

describe("the gateway of a node", () => {
  it("is the one given on the command line, with its credential", () => {
    const meant = (url: string, secret: object = {}) => nodeTarget({ url, ...secret }, false);
    assert.deepEqual(meant("https://gateway.example/", { token: "flag" }), {
      url: "wss://gateway.example",
      secret: { token: "flag" },
    });
    assert.deepEqual(meant("ws://127.0.0.1:18789"), { url: "ws://127.0.0.1:18789", secret: undefined });
    assert.deepEqual(meant("ws://127.0.0.1:4711", { token: "kept" }).secret, { token: "kept" });
    assert.deepEqual(meant("ws://127.0.0.1:4712", { password: "p" }).secret, { password: "p" });
    assert.deepEqual(meant("ws://127.0.0.1:4712", { token: "", password: "" }).secret, undefined);
  });

  it("is reached unencrypted only on this machine, or with --insecure", () => {
    for (const url of ["ws://192.168.1.2:1", "http://gateway.example", "ws://127.0.0.1.example", "ws://0.0.0.0:1"]) {
      assert.throws(() => nodeTarget({ url }, false, []), /unencrypted\nNext: use wss:\/\/.*--insecure/, url);
      assert.ok(nodeTarget({ url }, true));
    }
    const own = nodeTarget({ url: "ws://192.168.1.2:18789" }, false, ["192.168.1.2"]);
    assert.equal(own.url, "ws://192.168.1.2:18789");
    for (const url of ["ws://127.0.0.1:1", "ws://localhost:1", "ws://[::1]:1", "ws://127.1:1"]) {
      assert.ok(nodeTarget({ url }, false), url);
    }
  });

  it("is never another kind of address", () => {
    for (const url of ["gateway", "ftp://x", "ws://", "18789"])
      assert.throws(() => nodeTarget({ url }, false), /is not a valid gateway address\nNext: write it like/, url);
  });
});

describe("what a refused connection means", () => {
  const refusal = (code: "INVALID_REQUEST" | "NOT_PAIRED" | "UNAVAILABLE", message: string, details: object = {}) =>
    new GatewayError(code, message, { details });
  const unauthorized = (code?: string) => refusal("INVALID_REQUEST", "unauthorized: device token mismatch", { code });
  const unpaired = (code: string) => refusal("NOT_PAIRED", "pairing required", { code, requestId: "r" });
  const cases: [why: string, error: Error, own: boolean, kind: string][] = [
    ["nobody answers", refusal("UNAVAILABLE", "cannot reach ws://127.0.0.1:1"), false, "lost"],
    ["an error of the machine", new Error("EMFILE"), false, "lost"],
    ["too many attempts", unauthorized("AUTH_RATE_LIMITED"), false, "lost"],
    ["not approved", unpaired("PAIRING_REQUIRED"), false, "unapproved"],
    ["no device", unpaired("DEVICE_IDENTITY_REQUIRED"), false, "refused"],
    ["a wrong secret", unauthorized("AUTH_TOKEN_MISMATCH"), false, "refused"],
    ["its token is refused", unauthorized("AUTH_DEVICE_TOKEN_MISMATCH"), true, "token-refused"],
    ["its token is refused, in words alone", unauthorized(), true, "refused"],
    ["its token counts as the gateway's", unauthorized("AUTH_TOKEN_MISMATCH"), true, "token-refused"],
    ["another protocol", refusal("INVALID_REQUEST", "protocol mismatch", { expectedProtocol: 4 }), true, "refused"],
    ["a clock that is off", unauthorized("DEVICE_AUTH_SIGNATURE_EXPIRED"), true, "refused"],
  ];
  it("is to wait for the gateway or an approval, to delete a refused token, or to stop with the next step", () => {
    for (const [why, error, own, kind] of cases) {
      const end = judgeRefusal(error, own);
      assert.equal(end.kind, kind, why);
      if (end.kind === "refused") assert.notEqual(end.next, "", why);
    }
  });

  it("waits longer each time, up to half a minute, and never the same for all", () => {
    const waits = [0, 1, 2, 9, 1e6].map((attempt) => waitMs("lost", attempt, 1));
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 30_000, 30_000]);
    assert.deepEqual([waitMs("unapproved", 0, 0), waitMs("unapproved", 9, 0)], [1_000, 15_000]);
  });
});

describe("the state lines of a node program", () => {
  it("contain the command to run on the gateway", () => {
    const next = "svc devices approve r1";
    const told = { state: "waiting", url: "ws://x", nodeId: "n", requestId: "r1", reason: "not-paired", next } as const;
    const line = "waiting for approval (request r1, not-paired); run on the gateway: svc devices approve r1";
    assert.equal(stateLine(told), line);
  });

  it("escape control characters in texts of others", () => {
    assert.equal(stateLine({ state: "note", text: "a\u001b[2Jb\nc" }), "a\\u001b[2Jb\\u000ac");
  });
});

describe("the judgement of a command", () => {
  const rules = (more: Partial<ExecRules> = {}): ExecRules => ({
    security: "allowlist",
    ask: "on-miss",
    askFallback: "deny",
    allowlist: [{ pattern: "/usr/bin/rg" }],
    ...more,
  });
  const plan: SystemRunPlan = { argv: ["rg", "x"], cwd: "/srv", rawCommand: null, agentId: null, sessionKey: null };

  it("asks for a program of the allowlist with an environment that may change it", () => {
    const judge = (names: string[], more?: Partial<ExecRules>) =>
      judgeRun(rules(more), plan, "/usr/bin/rg", names, { root: "/srv" });
    assert.equal(judge(["LANG", "LC_ALL"]).verdict, "allow");
    assert.equal(judge(["LANG", "RIPGREP_CONFIG_PATH"]).verdict, "ask");
    assert.equal(judge(["LANGUAGE"]).verdict, "ask");
    const always = { ask: "always", askFallback: "allowlist" } as const;
    assert.deepEqual(judge(["LANG"], always), { verdict: "ask", fallback: "allow" });
    assert.deepEqual(judge(["RIPGREP_CONFIG_PATH"], always), { verdict: "ask", fallback: "deny" });
    assert.equal(judgeRun(rules({ ask: "off" }), plan, "/usr/bin/rg", ["RIPGREP_CONFIG_PATH"]).verdict, "deny");
    assert.equal(judgeRun(rules({ security: "full", ask: "off" }), plan, "/usr/bin/rg", ["X"]).verdict, "allow");
  });

  it("stays a denial by the policy, whatever approval there is", () => {
    assert.equal(whyNot({ verdict: "deny", reason: "no" }, true), "no");
    assert.equal(whyNot({ verdict: "ask", fallback: "allow" }, false), "approval required");
    assert.equal(whyNot({ verdict: "ask", fallback: "deny" }, true), undefined);
    assert.equal(whyNot({ verdict: "allow" }, false), undefined);
  });

  it("is added to the allowlist for exactly one command, and never for programs that run other programs", () => {
    const rows: [path: string, called: string, canBe: boolean][] = [
      ["/usr/bin/git", "git", true],
      ["/usr/bin/rg", "rg", true],
      ["/usr/bin/bash", "bash", false],
      ["/usr/bin/python3.12", "python3", false],
      ["/opt/tool", "python", false],
      ["/opt/a*/tool", "tool", false],
      ["/bin/busybox", "rm", false],
      ["/usr/bin/vim.basic", "vi", false],
    ];
    for (const [path, called, canBe] of rows) {
      const once = { ...plan, argv: [called, "/opt/job", "b c"], cwd: "/srv" };
      const entry = exactEntry(once, path);
      assert.deepEqual(entry, { pattern: path, args: ["/opt/job", "b c"], cwd: "/srv" });
      assert.equal(canBeListed(entry, once, path, { root: "/srv" }), canBe, `${called} (${path})`);
    }
  });
});

describe("the environment and output of a program", () => {
  it("contain no variable that holds a credential", () => {
    const own = { SVC_X: "1", svc_y: "1", A: "1", B: "Bearer s3cret-token", C: undefined, E: "pw", F: "pwd" };
    assert.deepEqual(childEnvironment(own, { D: "2" }, ["s3cret-token", "pw"]), { A: "1", D: "2", F: "pwd" });
  });

  it("may contain variables that only resemble dangerous ones", () => {
    const names = "NODE_ENV GITHUB_TOKEN GOOGLE_REGION GEMINI_MODEL RUSTIC PATHS ENVIRONMENT MODE _x";
    for (const name of names.split(" ")) assert.equal(refusedVariable(name), undefined, name);
  });

  it("are complete when the output is short, however it is split", () => {
    const text = new BoundedText(1_000);
    for (const byte of Buffer.from("aä€😀")) text.append(Buffer.of(byte));
    assert.deepEqual(text.end(), { text: "aä€😀", truncated: false });
  });

  it("are the beginning and the end of a long output, within the limit", () => {
    const text = new BoundedText(180); // 50 and 50
    for (let at = 0; at < 1_000; at++) text.append(Buffer.from(String(at % 10)));
    const { text: kept, truncated } = text.end();
    assert.equal(kept, `${"0123456789".repeat(5)}\n[... 900 characters omitted ...]\n${"0123456789".repeat(5)}`);
    assert.equal(truncated, true);
  });
});
