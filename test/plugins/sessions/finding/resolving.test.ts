import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { ParamsOf } from "@svc/sdk";
import type { sessions } from "@svc/sdk/sessions";
import { resolveSession } from "../../../../plugins/sessions/finding/resolving.ts";
import { publishedViolations } from "../../../published.ts";
import { openStore } from "../open-store.ts";

type Params = ParamsOf<typeof sessions.resolve>;

const rules = { defaultAgentId: "main", mainKey: "main", scope: "per-sender" } as const;

async function seeded(t: TestContext) {
  const { store } = await openStore(t);
  await store.ensure("agent:main:foo", { label: "twice", sessionId: "id-1", spawnedBy: "agent:main:main" });
  await store.ensure("agent:bob:foo", { label: "twice", sessionId: "id-2" });
  await store.ensure("global", { label: "all", sessionId: "id-3" });
  await store.ensure("agent:main:cron:j:run:r", { label: "run", sessionId: "id-4" });
  await store.ensure("agent:bob:dashboard:01234567-89ab-cdef-8123-456789abcdef", { displayName: "Trip" });
  await store.ensure("agent:bob:dashboard:01234567-aaaa-cdef-8123-456789abcdef");
  return (params: Params) => resolveSession(store, params, rules);
}

describe("resolveSession", () => {
  const found: [what: string, params: Params, key: string][] = [
    ["a key", { key: " FOO" }, "agent:main:foo"],
    ["a key of the agent", { key: "agent:bob:foo", agentId: "Bob" }, "agent:bob:foo"],
    ["a special key that is named", { key: "global" }, "global"],
    ["a session id", { sessionId: " id-2 " }, "agent:bob:foo"],
    ["a label within an agent", { label: "twice", agentId: "main" }, "agent:main:foo"],
    ["a label within what a session spawned", { label: "twice", spawnedBy: "agent:main:main" }, "agent:main:foo"],
    ["a label of the global session on request", { label: "all", includeGlobal: true }, "global"],
    [
      "the beginning of a UUID",
      { shortId: "0123456789AB" },
      "agent:bob:dashboard:01234567-89ab-cdef-8123-456789abcdef",
    ],
    ["a reference of the agent", { reference: { key: "foo" }, agentId: "bob" }, "agent:bob:foo"],
  ];
  it("finds one session", async (t) => {
    const resolve = await seeded(t);
    for (const [what, params, key] of found) {
      const answer = await resolve(params);
      assert.equal(answer.ok && answer.key, key, what);
      assert.deepEqual(publishedViolations("SessionsResolveResult", answer), [], what);
    }
  });

  it("tells the agent and the name, and what else matches instead of an error on request", async (t) => {
    const resolve = await seeded(t);
    const trip = {
      key: "agent:bob:dashboard:01234567-89ab-cdef-8123-456789abcdef",
      agentId: "bob",
      displayName: "Trip",
    };
    assert.deepEqual(await resolve({ shortId: "0123456789ab" }), { ok: true, ...trip });
    assert.deepEqual(await resolve({ key: "nope", allowMissing: true }), { ok: false });
    const several = await resolve({ shortId: "01234567", allowMissing: true });
    assert.deepEqual(publishedViolations("SessionsResolveResult", several), []);
    assert.ok(
      !several.ok && several.candidates?.length === 2 && several.candidates.some(({ key }) => key === trip.key),
    );
  });

  const refused: [why: string, params: Params, code: string, message: RegExp][] = [
    ["no selector", {}, "INVALID_REQUEST", /exactly one/],
    ["two selectors", { key: "foo", label: "x" }, "INVALID_REQUEST", /exactly one/],
    ["several matches", { label: "twice" }, "INVALID_REQUEST", /agent:(main|bob):foo, agent:(main|bob):foo/],
    ["a malformed key", { key: "agent:x" }, "INVALID_REQUEST", /malformed/],
    ["an unknown key", { key: "none" }, "NOT_FOUND", /agent:main:none/],
    ["a key of another agent", { key: "foo", agentId: "bob" }, "NOT_FOUND", /agent:main:foo/],
    ["a key without the parent", { key: "agent:bob:foo", spawnedBy: "x" }, "NOT_FOUND", /agent:bob:foo/],
    ["an unknown session id", { sessionId: "none" }, "NOT_FOUND", /none/],
    ["an unknown label", { label: "none" }, "NOT_FOUND", /none/],
    ["a label with U+0000", { label: "tw\0ice" }, "NOT_FOUND", /label/],
    ["the global session without a request", { label: "all" }, "NOT_FOUND", /all/],
    ["a run of a job", { sessionId: "id-4" }, "NOT_FOUND", /id-4/],
    ["several UUIDs", { shortId: "01234567" }, "INVALID_REQUEST", /several sessions/],
  ];
  it("refuses what is not one session, with the reason", async (t) => {
    const resolve = await seeded(t);
    for (const [why, params, code, message] of refused)
      await assert.rejects(resolve(params), { name: "GatewayError", code, message }, why);
  });
});
