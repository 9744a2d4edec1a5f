// long: waits for slow model servers
/** Errors that a caller gets, and the end of a run whose client is gone. Spec: http/chat-completions.md §6, §7. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
} from "openai";
import { definePlugin } from "@svc/sdk";
import { chunkIn, frames, scene, SUITE_MS, until } from "./scene.ts";

const hi = { model: "svc", messages: [{ role: "user" as const, content: "hi" }] };

describe("a refusal", { timeout: SUITE_MS }, () => {
  it("has the class of the public API for each kind", async (t) => {
    const { client, openai } = await scene(t, {
      config: { session: { sendPolicy: { rules: [{ action: "deny", match: { keyPrefix: "quiet" } }] } } },
    });
    type Row = [
      what: string,
      ask: () => PromiseLike<unknown>,
      kind: abstract new (...args: never[]) => Error,
      fields: object,
    ];
    const key = (value: string) => ({ headers: { "x-svc-session-key": value } });
    const rows: Row[] = [
      [
        "no messages",
        () => openai.chat.completions.create({ ...hi, messages: [] }),
        BadRequestError,
        {
          status: 400,
          message: "400 Missing user message in `messages`.",
          type: "invalid_request_error",
          param: "messages",
        },
      ],
      [
        "a value out of range",
        () => openai.chat.completions.create({ ...hi, temperature: 3 }),
        BadRequestError,
        { status: 400, type: "invalid_request_error", param: "temperature", code: "invalid_value" },
      ],
      [
        "an unknown field",
        () => openai.chat.completions.create({ ...hi, colour: "red" } as typeof hi),
        BadRequestError,
        { status: 400, param: "colour", code: "unknown_parameter" },
      ],
      [
        "a session of the gateway's own",
        () => openai.chat.completions.create(hi, key("agent:main:cron:x")),
        BadRequestError,
        { status: 400, type: "invalid_request_error" },
      ],
      [
        "a wrong key",
        () => client({ apiKey: "wrong" }).chat.completions.create(hi),
        AuthenticationError,
        { status: 401, type: "unauthorized" },
      ],
      [
        "a session that takes no messages",
        () => openai.chat.completions.create(hi, key("quiet:one")),
        PermissionDeniedError,
        { status: 403, type: "forbidden" },
      ],
      [
        "an agent nobody configured",
        () => openai.chat.completions.create({ ...hi, model: "svc:nobody" }),
        NotFoundError,
        { status: 404, type: "invalid_request_error", code: "model_not_found" },
      ],
      [
        "an agent nobody configured, by session",
        () => openai.chat.completions.create(hi, key("agent:nobody:x")),
        NotFoundError,
        { status: 404, code: "model_not_found" },
      ],
      [
        "a model nobody configured",
        () => openai.chat.completions.create(hi, { headers: { "x-svc-model": "fake/none" } }),
        NotFoundError,
        { status: 404, code: "model_not_found" },
      ],
    ];
    for (const [what, ask, kind, fields] of rows) {
      const error: unknown = await Promise.resolve(ask()).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof kind, `${what}: ${String(error)}`);
      for (const [name, value] of Object.entries(fields))
        assert.equal(Reflect.get(error, name), value, `${what}: ${name}`);
    }
  });

  it("of an invalid HTTP request is the same as for every route", async (t) => {
    const { base, post } = await scene(t, { endpoint: { maxBodyBytes: 1_000 } });
    const get = await fetch(`${base}/v1/chat/completions`);
    assert.deepEqual([get.status, get.headers.get("allow")], [405, "POST"]);
    const rows: [body: string, status: number, message: RegExp][] = [
      ["{", 400, /not JSON/],
      ["[]", 400, /JSON object/],
      [`{"messages":${"[".repeat(201)}${"]".repeat(201)}}`, 400, /nested deeper than 200 levels/],
      ["", 400, /^Missing user message in `messages`\.$/],
      [`{"model":"${"x".repeat(1_000)}"}`, 413, /too large/],
    ];
    for (const [body, status, message] of rows) {
      const response = await post(body);
      const { error } = (await response.json()) as { error: { message: string; type: string } };
      assert.deepEqual([response.status, error.type], [status, "invalid_request_error"], body);
      assert.match(error.message, message);
    }
    assert.equal((await fetch(`${base}/v1/models`)).status, 401);
  });
});

describe("an endpoint that is off", { timeout: SUITE_MS }, () => {
  it("names the key that enables it to authorized clients", async (t) => {
    const { post, base, token } = await scene(t, { endpoint: { enabled: false } });
    const strange = await fetch(`${base}/v1/chat/completions`, { method: "POST" });
    assert.equal(strange.status, 401);
    for (const response of [
      await post("{"),
      await fetch(`${base}/v1/models`, { headers: { authorization: `Bearer ${token}` } }),
    ]) {
      assert.equal(response.status, 404);
      assert.deepEqual(await response.json(), {
        error: {
          message: "this endpoint is off; set gateway.http.endpoints.chatCompletions.enabled to true",
          type: "not_found",
        },
      });
    }
  });
});

describe("a run that fails", { timeout: SUITE_MS }, () => {
  it("is an error with the message of the run, and is not retried", async (t) => {
    const { client, server } = await scene(t, { replies: () => ({ status: 400, message: "no such thing" }) });
    const asking = client({ maxRetries: 2 }).chat.completions.create(hi);
    await assert.rejects(asking, (error: unknown) => {
      assert.ok(error instanceof InternalServerError);
      assert.deepEqual([error.status, error.type, error.code], [500, "api_error", "run_failed"]);
      assert.match(error.message, /did not accept the request/);
      assert.match(error.headers.get("x-request-id") ?? "", /^chatcmpl_/);
      return true;
    });
    assert.equal(server.requests.length, 1);
  });

  it("for a while, and did nothing, is asked for again by clients that do", async (t) => {
    let isDown = true;
    const { client, post } = await scene(t, {
      replies: () => (isDown ? { status: 500, message: "busy" } : { text: "fine" }),
    });
    const refused = await post(hi);
    const { headers } = refused;
    assert.deepEqual([refused.status, headers.get("retry-after"), headers.get("x-should-retry")], [503, "2", "true"]);
    /** Fails the first request and succeeds on the second, without the requested pause. */
    const impatient: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      isDown = false;
      const hurried = new Headers(response.headers);
      hurried.set("retry-after-ms", "1");
      return new Response(response.body, { status: response.status, headers: hurried });
    };
    const answer = await client({ maxRetries: 1, fetch: impatient }).chat.completions.create(hi);
    assert.equal(answer.choices[0]?.message.content, "fine");
  });

  it("in the middle of a stream ends it with an error", async (t) => {
    const { post, openai } = await scene(t, {
      replies: () => ({ pieces: ["one ", "two"], breakAfter: 1, delayMs: 5 }),
    });
    const all = await frames(await post({ ...hi, stream: true }));
    assert.equal(all.at(-1), "data: [DONE]");
    const { error } = chunkIn(all.at(-2));
    assert.match(error?.message ?? "", /disconnected/);
    assert.deepEqual([error?.type, error?.param, error?.code], ["unavailable", null, "unavailable"]);
    const stream = await openai.chat.completions.create({ ...hi, stream: true });
    let said = "";
    await assert.rejects(
      async () => {
        for await (const { choices } of stream) said += choices[0]?.delta.content ?? "";
      },
      (thrown: unknown) => thrown instanceof APIError && /disconnected/.test(thrown.message),
    );
    assert.equal(said, "one ");
    await assert.rejects(openai.chat.completions.stream(hi).finalChatCompletion(), /disconnected/);
  });

  it("of a stopped run is a conflict; of a run that exceeds its time, a timeout", async (t) => {
    const it = await scene(t, { replies: () => ({ text: "x", hangAfter: 0 }) });
    const asking = it.openai.chat.completions.create(hi);
    const stopped = assert.rejects(
      asking,
      (error: unknown) => error instanceof ConflictError && error.code === "run_stopped",
    );
    await until(() => it.server.requests[0]);
    assert.ok(it.seen.abort(it.seen.events[0]?.runId ?? "", "rpc"));
    await stopped;
    const late = it.post(hi);
    await until(() => it.server.requests[1]);
    assert.ok(it.seen.abort(it.seen.events.at(-1)?.runId ?? "", "timeout"));
    const response = await late;
    const { error } = (await response.json()) as { error: { type: string } };
    assert.deepEqual([response.status, error.type, response.headers.get("x-should-retry")], [504, "timeout", "false"]);
  });

  it("before it is accepted is no stream", async (t) => {
    const gate = definePlugin({
      id: "gate",
      api: "^1.0.0",
      setup: (gateway) => gateway.hooks.runBefore.tap(() => ({ allow: false, reason: "closed", retryAfterMs: 3_000 })),
    });
    const { post } = await scene(t, { plugins: [gate] });
    const response = await post({ ...hi, stream: true });
    assert.deepEqual([response.status, response.headers.get("retry-after")], [503, "3"]);
    assert.match(await response.text(), /closed/);
  });
});

describe("a caller that goes away", { timeout: SUITE_MS }, () => {
  const endless = () => ({ pieces: ["one ", "two "], hangAfter: 1 });

  it("in a stream takes its run along: the model server sees it go", async (t) => {
    const it = await scene(t, { replies: endless });
    const gone = new AbortController();
    const stream = await it.openai.chat.completions.create({ ...hi, stream: true }, { signal: gone.signal });
    let id = "";
    for await (const chunk of stream) {
      ({ id } = chunk);
      if (chunk.choices[0]?.delta.content) gone.abort();
    }
    const outcome = await until(() => it.seen.ended[0]);
    assert.deepEqual([outcome.runId, outcome.status, outcome.abortReason], [id, "aborted", "disconnect"]);
    const [request] = it.server.requests;
    await request?.closed;
    assert.equal(request?.aborted, true);
    assert.equal((await it.seen.state(id))?.status, "aborted");
  });

  it("before the first text, by its socket", async (t) => {
    const it = await scene(t, { replies: () => ({ text: "x", hangAfter: 0 }) });
    for (const stream of [true, false]) {
      const count = it.seen.ended.length;
      const body = JSON.stringify({ ...hi, stream });
      const socket = connect(it.gateway.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${it.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      const request = await until(() => it.server.requests[count]);
      socket.destroy();
      const outcome = await until(() => it.seen.ended[count]);
      assert.deepEqual([outcome.status, outcome.abortReason], ["aborted", "disconnect"]);
      await request.closed;
      assert.equal(request.aborted, true);
    }
  });

  it("that breaks out of its loop, too", async (t) => {
    const it = await scene(t, { replies: endless });
    const stream = await it.openai.chat.completions.create({ ...hi, stream: true });
    for await (const { choices } of stream) if (choices[0]?.delta.content) break;
    assert.equal((await until(() => it.seen.ended[0])).status, "aborted");
  });

  it("does not block a reload of the plugin: waiting clients get an error", async (t) => {
    const it = await scene(t, { replies: endless });
    const stream = await it.openai.chat.completions.create({ ...hi, stream: true });
    const reading = (async () => {
      for await (const chunk of stream) assert.ok(chunk.id);
    })();
    const told = assert.rejects(reading, /stopped before the run ended/);
    await until(() => it.seen.events.find((event) => event.stream === "assistant"));
    const report = await it.gateway.reload("http-chat");
    assert.equal(report.ok, true);
    await told;
    assert.equal((await until(() => it.seen.ended[0])).status, "aborted");
  });
});
