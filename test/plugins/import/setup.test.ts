/** The offer of an import in the guided setup. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { SetupCall } from "@svc/sdk/wizard";
import { createOffer } from "../../../plugins/import/setup.ts";
import { directory, put } from "../../directory.ts";

const call = { config: {}, signal: new AbortController().signal } as unknown as SetupCall; // the part reads none of it

function offer(t: TestContext, { sessions = 0, isThere = true } = {}) {
  const state = directory(t);
  if (isThere) put(join(state, "openclaw.json"), "{}");
  return { state, part: createOffer({ env: { OPENCLAW_STATE_DIR: state }, sessions: async () => sessions }) };
}

describe("the offer in the setup", () => {
  it("names the directory, and ends the setup with the command", async (t) => {
    const { state, part } = offer(t);
    const step = await part.start(call);
    assert.ok("ask" in step && step.ask.kind === "select");
    assert.ok(step.ask.message.includes(state));
    const next = part.next({ ...call, state: step.state, answer: "import" });
    await assert.rejects(next, { code: "INVALID_REQUEST", message: /run: svc import openclaw --dry-run/ });
  });

  it("goes on with a new gateway, and says how to import later", async (t) => {
    const { state, part } = offer(t);
    const step = await part.next({ ...call, state, answer: "new" });
    assert.deepEqual(step, { done: true, message: `${state} stays; later: svc import openclaw` });
  });

  it("asks nothing without such a state, or when this gateway has conversations", async (t) => {
    for (const without of [{ isThere: false }, { sessions: 1 }])
      assert.deepEqual(await offer(t, without).part.start(call), { done: true });
  });
});
