/** The webhook and the run of an account: what arrives, what is refused, and what the account reports. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";
import { accountStateInMemory } from "@svc/sdk/testing";
import { accountsOf } from "../../../plugins/whatsapp/config.ts";
import { createWebhook } from "../../../plugins/whatsapp/webhook.ts";
import { until } from "../../until.ts";
import { createRandom } from "../../fault/workload.ts";
import { hidesSecrets, LOGIN, openScene, rejects, SUITE_MS } from "./scene.ts";
import { ADA, delivery, graphError, message, NUMBER_ID, SECRET, sign, text, TOKEN, VERIFY } from "./server.ts";

const texts = (running: { messages: readonly { text: string }[] }) => running.messages.map((one) => one.text);
const unavailable = () => new GatewayError("UNAVAILABLE", "too many messages wait", { retryAfterMs: 2_000 });

/** The webhook without a gateway, and what it logs. */
function webhookOf(receive: ChannelRun["receive"] = async () => ({ accepted: true, sessionKey: "s" })) {
  const lines: string[] = [];
  const to = (level: string) => (fields: object, text: string) =>
    void lines.push([level, text, ...Object.values(fields)].join(" "));
  const accounts = accountsOf(LOGIN);
  const facts = {
    accountId: "default",
    settings: accounts[0]?.settings ?? assert.fail(),
    signal: new AbortController().signal,
  };
  const run = {
    ...facts,
    receive,
    alive: () => undefined,
    commands: [],
    report: () => undefined,
    openState: accountStateInMemory(),
  };
  const { deliver } = createWebhook({
    accounts,
    live: new Map([["default", { run, background: () => undefined }]]),
    log: { info: to("info"), warn: to("warn") },
    note: () => undefined,
    markRead: async () => undefined,
  });
  return {
    lines,
    deliver(body: unknown) {
      const rawBody = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
      return deliver({ params: { account: "default" }, rawBody, headers: { "x-hub-signature-256": sign(rawBody) } });
    },
  };
}

describe("webhook", { timeout: SUITE_MS }, () => {
  it("is verified with the right token only", async (t) => {
    const { server } = await openScene(t);
    const verify = (query: object, account = "default") =>
      fetch(`${server.state.gateway}/plugins/whatsapp/${account}/webhook?${String(new URLSearchParams({ ...query }))}`);
    const right = { "hub.mode": "subscribe", "hub.verify_token": VERIFY, "hub.challenge": "<b>1158201444" };
    const answer = await verify(right);
    assert.deepEqual([answer.status, await answer.text()], [200, "<b>1158201444"]);
    assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
    for (const wrong of [{ "hub.verify_token": "wrong" }, { "hub.verify_token": "" }, { "hub.mode": "unsubscribe" }])
      assert.equal((await verify({ ...right, ...wrong })).status, 401);
    assert.equal((await verify(right, "nobody")).status, 401);
  });

  it("accepts signed deliveries only, while the account runs", async (t) => {
    const { server, run } = await openScene(t);
    const body = JSON.stringify(delivery({ messages: [text("hello")] }));
    assert.equal(await server.post(body), 503);
    const running = await run();
    const signed = (signature: string) => server.post(body, { "x-hub-signature-256": signature });
    assert.equal(await server.post(body, {}), 401);
    for (const wrong of ["", "sha256=", sign(body, "other"), sign(`${body} `), sign(body).slice(7)])
      assert.equal(await signed(wrong), 401);
    server.state.account = "nobody";
    assert.equal(await server.post(body), 401);
    server.state.account = "default";
    assert.deepEqual(running.messages, []);
    const proofs = running.proofs();
    assert.equal(await signed(sign(body)), 200);
    assert.deepEqual(texts(running), ["hello"]);
    assert.ok(running.proofs() > proofs);
    assert.equal(await server.post("{"), 400);
    assert.equal(await server.post("[]"), 400);
    assert.equal(await server.post(Buffer.alloc(5_000_000, " ")), 413);
    await running.stop();
    assert.equal(await server.post(body), 503);
  });

  it("is repeated until the gateway has every message", async (t) => {
    const { server, run } = await openScene(t);
    let refusals = 0;
    const seen = new Set<string | undefined>();
    const running = await run({
      receive({ id, text }) {
        if (seen.has(id)) return { accepted: false, reason: "duplicate" };
        if (text === "second" && refusals++ < 2) throw unavailable();
        seen.add(id);
        return undefined;
      },
    });
    await server.deliver(delivery({ messages: [text("first"), text("second"), text("third")] }));
    assert.deepEqual([texts(running), refusals], [["first", "second", "third"], 3]);
  });

  it("passes numbers of the same app on to their account", async (t) => {
    const other = { ...LOGIN, phoneNumberId: "20000", accessToken: TOKEN };
    const accounts = { second: other, stranger: { ...other, phoneNumberId: "30000", appSecret: "another secret" } };
    const { server, run } = await openScene(t, { accounts });
    const first = await run();
    server.fails({ matches: /^GET 20000$/, status: 200, body: { display_phone_number: "+2" }, times: 99 });
    server.fails({ matches: /^GET 30000$/, status: 200, body: { display_phone_number: "+3" }, times: 99 });
    const post = (numberId: string) => server.post(JSON.stringify(delivery({ messages: [text(numberId)] }, numberId)));
    assert.equal(await post("20000"), 503);
    const [second, stranger] = [await run({ accountId: "second" }), await run({ accountId: "stranger" })];
    for (const numberId of ["20000", "30000", "40000"]) assert.equal(await post(numberId), 200);
    assert.deepEqual([first, second, stranger].map(texts), [[], ["20000"], []]);
  });

  it("marks accepted messages as read, and shows typing below the last one", async (t) => {
    const { server, channel, call, run } = await openScene(t);
    await run({ receive: ({ text }) => (text === "no" ? { accepted: false, reason: "not-allowed" } : undefined) });
    const place = { ...call, to: ADA };
    await channel.typing?.(place);
    assert.deepEqual(server.marks(), []);
    const hello = text("hello");
    const reaction = message({ type: "reaction", reaction: { message_id: "wamid.0", emoji: "👍" } });
    await server.deliver(delivery({ messages: [hello, reaction, text("no")] }));
    const mark = { messaging_product: "whatsapp", status: "read", message_id: hello.id };
    await until(() => server.marks().length === 1, "the mark");
    await channel.typing?.(place);
    assert.deepEqual(server.marks(), [mark, { ...mark, typing_indicator: { type: "text" } }]);
  });

  it("can leave messages unread", async (t) => {
    const { server, channel, call, run } = await openScene(t, { sendReadReceipts: false });
    const running = await run();
    await server.deliver(delivery({ messages: [text("hello")] }));
    await channel.typing?.({ ...call, to: ADA });
    await running.stop();
    assert.deepEqual(server.marks(), []);
  });

  it("skips what is malformed, and logs what WhatsApp reports", async () => {
    const received: string[] = [];
    const { deliver, lines } = webhookOf(async ({ text: words }) => {
      received.push(words);
      return { accepted: true, sessionKey: "s" };
    });
    const unsupported = message({ type: "unsupported", errors: [{ code: 131051, title: "Unknown" }] });
    const failed = { id: "wamid.7", status: "failed", errors: [{ code: 131047, title: "Re-engagement message" }] };
    const value = {
      messages: [7, { id: "x" }, text("", { text: 7 }), message({ type: "system" }), unsupported, text("good")],
      statuses: [failed, { id: "wamid.8", status: "read" }, 7],
      errors: [{ code: 130429, title: "Rate limit hit", error_data: { details: "slow down" } }, 7],
      contacts: [7, { profile: 7 }],
    };
    const body = delivery(value);
    body.entry[0]?.changes.unshift(
      { field: "account_update", value: 7 as never },
      { field: "messages", value: 7 as never },
    );
    assert.deepEqual(await deliver(body), { status: 200 });
    assert.deepEqual(received, ['[a message of the type "unsupported", which WhatsApp does not pass on]', "good"]);
    const expected = [
      /^warn a malformed delivery/,
      /^warn WhatsApp reports an error slow down \(code 130429\)/,
      /^warn WhatsApp could not deliver a sent message wamid\.7 Re-engagement message \(code 131047\) wait until the person/,
      /^warn a malformed message/,
      /^warn a malformed message/,
      /^info a WhatsApp message was skipped wamid\S+ text it is malformed$/,
      /^info a WhatsApp message was skipped wamid\S+ system it is a notice/,
      /^warn WhatsApp could not pass on a message wamid\S+ Unknown \(code 131051\)/,
    ];
    assert.equal(lines.length, expected.length, lines.join("\n"));
    for (const [index, pattern] of expected.entries()) assert.match(lines[index] ?? "", pattern);
    hidesSecrets(lines);
  });

  it("survives deliveries that are damaged anywhere", async () => {
    const { deliver, lines } = webhookOf();
    const random = createRandom(7);
    const junk: readonly unknown[] = [
      null,
      7,
      -1e308,
      "",
      "x",
      [],
      {},
      [[]],
      { id: 7 },
      true,
      "\u0000",
      { toString: 7 },
    ];
    const pick = (list: readonly unknown[]) => list[Math.floor(random() * list.length)];
    const interactive = { type: "button_reply", button_reply: { id: "v", title: "Yes" } };
    const whole = JSON.stringify(
      delivery({
        messages: [
          text("a", { context: { id: "w", from: ADA, forwarded: true } }),
          message({ type: "image", image: { id: "m", caption: "c" } }),
          message({ type: "contacts", contacts: [{ name: { formatted_name: "B" }, phones: [{ phone: "1" }] }] }),
          message({ type: "interactive", interactive }),
          message({ type: "edit", edit: { original_message_id: "w", message: { type: "text", text: { body: "n" } } } }),
        ],
        statuses: [{ id: "w", status: "failed", errors: [{ code: 1, error_data: { details: "d" } }] }],
      }),
    );
    for (let round = 0; round < 500; round++) {
      const damaged = JSON.parse(whole, (_, value: unknown) => (random() < 0.03 ? pick(junk) : value)) as unknown;
      const body = JSON.stringify(damaged);
      const cut = round % 5 === 0 ? body.slice(0, Math.floor(random() * body.length)) : body;
      const status = await deliver(cut).then(
        (reply) => reply.status,
        (error: unknown) => (error instanceof GatewayError && error.code === "INVALID_REQUEST" ? 400 : error),
      );
      assert.ok(status === 200 || status === 400, `${String(status)}: ${cut}`);
    }
    hidesSecrets(lines);
  });
});

describe("run", { timeout: SUITE_MS }, () => {
  it("reports the number, and each loss of the Graph API once", async (t) => {
    const { server, run } = await openScene(t, { pingMs: 50 });
    const running = await run();
    const connected = { state: "connected", detail: "Helper Inc (+1 555-078-3881)" };
    assert.deepEqual(running.reports, [{ state: "connecting" }, connected]);
    server.fails({ matches: /^GET/, status: 503, times: 3 });
    await running.reported("disconnected");
    await running.reported("connected");
    server.fails({ matches: /^GET/, isSilent: true });
    await running.reported("disconnected");
    assert.match(running.reports.at(-1)?.detail ?? "", /did not answer within 1000 ms/);
    await running.reported("connected");
    await server.deliver(delivery({ messages: [text("still here")] }));
    const states = running.reports.map(({ state }) => state);
    assert.deepEqual(states.slice(2), ["disconnected", "connected", "disconnected", "connected"]);
    assert.equal(await running.stop(), undefined);
  });

  it("ends when the token is refused, at the start and later", async (t) => {
    const { server, start, run } = await openScene(t, { pingMs: 50 });
    const running = await run();
    server.state.token = "another";
    await rejects(running.ended, "NOT_LINKED", /Bearer \[token\].*; next: /);
    const again = start();
    await rejects(again.ended, "NOT_LINKED", /refuses the access token/);
    assert.deepEqual(again.reports, [{ state: "connecting" }]);
    const asked = server.requests.length;
    assert.equal(await server.post(JSON.stringify(delivery({ messages: [text("a")] }))), 503);
    assert.equal(server.requests.length, asked);
  });

  it("ends at once while it waits for an answer", async (t) => {
    const { server, start } = await openScene(t);
    server.state.isSilent = true;
    const running = start();
    await running.reported("connecting");
    assert.equal(await running.stop(), undefined);
  });

  it("says what is wrong with the address and with the id of the number", async (t) => {
    const down = await openScene(t, { graphUrl: "http://127.0.0.1:9/v23.0" });
    await rejects(down.start().ended, "UNAVAILABLE", /cannot be reached: .*; next: /);
    const { server, start } = await openScene(t, { phoneNumberId: "99999" });
    await rejects(start().ended, "INVALID_REQUEST", /check phoneNumberId/);
    server.fails({ matches: /99999/, status: 200, body: { id: "99999" } });
    await rejects(start().ended, "INVALID_REQUEST", /99999 is not the id of a number/);
    server.fails({ matches: /99999/, status: 403, body: graphError(200, `no ${SECRET} ${NUMBER_ID}`) });
    await rejects(start().ended, "INVALID_REQUEST", /give the system user this number/);
  });
});
