/** Model servers that send endlessly or hang: each such run ends with its reason; other runs are not affected. */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat, chatEvent } from "@svc/sdk/chat";
import type { GatewayClient } from "@svc/sdk/client";
import { floodScene } from "./flood-scene.ts";
import { LARGE_CHARS, startFloodingModel, type Way } from "./flooding-model.ts";

const limited = { timeout: 300_000 };
const APIS = ["openai-completions", "anthropic-messages"] as const;

async function scene(t: TestContext, defaults: object = {}) {
  const model = await startFloodingModel();
  t.after(() => model[Symbol.asyncDispose]());
  const providers = Object.fromEntries(
    APIS.map((api) => [api, { api, baseUrl: model.url, apiKey: "none", models: [{ id: "m" }] }]),
  );
  return floodScene(t, {
    models: { providers },
    agents: { defaults: { model: `${APIS[0]}/m`, maxConcurrent: 20, skipBootstrap: true, ...defaults } },
  });
}

/** Asks in a new session. @returns the end of the run as reported to the caller */
async function ask(client: GatewayClient, way: Way | "ordinary", api: string = APIS[0], id = way as string) {
  const sessionKey = `agent:main:${id.replaceAll(" ", "-")}-${api}`;
  await client.request("sessions.patch", { key: sessionKey, model: `${api}/m` });
  await client.call(chat.send, { sessionKey, message: `please: ${way}`, idempotencyKey: sessionKey });
  const { status, error } = await client.call(
    agents.wait,
    { runId: sessionKey, timeoutMs: 120_000 },
    { timeoutMs: 130_000 },
  );
  return { status, ...(error === undefined ? {} : { error }) };
}

for (const api of APIS)
  it(`endless answers stop at the limit, several at once: ${api}`, limited, async (t) => {
    const { client, during, othersServe, stops } = await scene(t);
    const errors: string[] = [];
    client.on(chatEvent, ({ state, errorMessage = "" }) => void (state === "error" && errors.push(errorMessage)));
    assert.equal((await ask(client, "ordinary", api)).status, "ok");
    const ends = await during(() => Promise.all(["a", "b", "c"].map((id) => ask(client, "endless", api, id))));
    const reason =
      /the answer of model provider ".+" was cut: it has more than 2000000 characters \(agents\.defaults\.maxAnswerChars\)/;
    for (const { status, error = "" } of ends) {
      assert.equal(status, "error");
      assert.match(error, reason);
    }
    assert.equal(errors.length, 3, "a chat event tells of each end");
    for (const error of errors) assert.match(error, reason);
    assert.equal((await ask(client, "ordinary", api, "after")).status, "ok");
    await othersServe();
    await client.call(chat.send, { sessionKey: "main", message: "endless", idempotencyKey: "during the stop" });
    await stops();
  });

it("answers of 5 MB, several at once, are kept complete if the limit allows them", limited, async (t) => {
  const { client, during, othersServe, stops } = await scene(t, { maxAnswerChars: LARGE_CHARS + 1_000 });
  assert.equal((await ask(client, "ordinary")).status, "ok");
  const ids = ["a", "b"];
  const ends = await during(() => Promise.all(ids.map((id) => ask(client, "large", APIS[0], id))));
  for (const end of ends) assert.deepEqual(end, { status: "ok" });
  await othersServe();
  await stops();
});

it("an interrupted stream is an error, a hanging one a timeout, each with its reason", limited, async (t) => {
  const { client, during, othersServe, stops } = await scene(t, { timeoutSeconds: 3 });
  const emitted: string[] = [];
  client.on(chatEvent, ({ state, errorMessage, stopReason = "" }) => {
    if (state !== "delta") emitted.push(`${state}: ${errorMessage ?? stopReason}`);
  });
  await during(async () => {
    for (const api of APIS) {
      const [broken, hung] = await Promise.all([ask(client, "breaks off", api), ask(client, "hangs", api)]);
      const error = /model provider ".+" disconnected (?:in the middle|before the end) of its answer; try again/;
      assert.match(`${broken.status}: ${broken.error}`, new RegExp(`^error: ${error.source}$`));
      assert.deepEqual(hung, { status: "timeout", error: "it timed out after 3 s" });
      assert.match(emitted.shift() ?? "", new RegExp(`^error: ${error.source}$`));
      assert.equal(emitted.shift(), "aborted: timeout");
    }
  });
  await othersServe();
  await stops();
});

it("an endless line next to hanging streams fails only its own run", limited, async (t) => {
  const { client, during, othersServe, stops } = await scene(t, { timeoutSeconds: 8 });
  for (const api of APIS) assert.equal((await ask(client, "ordinary", api)).status, "ok");
  await during(async () => {
    const hanging = ["a", "b", "c"].map((id) => ask(client, "hangs", APIS[0], id));
    const ends = await Promise.all(APIS.flatMap((api) => ["d", "e"].map((id) => ask(client, "one line", api, id))));
    for (const { status, error = "" } of ends) {
      assert.equal(status, "error");
      assert.match(error, /sent more than 1000000 characters in one piece; is its baseUrl that of a model server\?/);
    }
    for (const api of APIS) assert.equal((await ask(client, "ordinary", api, "beside")).status, "ok");
    for (const end of await Promise.all(hanging)) assert.equal(end.status, "timeout");
  });
  await othersServe();
  await stops();
});
