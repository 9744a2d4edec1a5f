/** Answers as the official client of the public API sees them. Spec: http/chat-completions.md §3, §5, §6 and §9. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chunkIn, collected, frames, scene, shown, SUITE_MS } from "./scene.ts";

const hi = { model: "svc", messages: [{ role: "user" as const, content: "hi" }] };

describe("an answer in one piece", { timeout: SUITE_MS }, () => {
  it("has the shape of the public API, and is the end of a run of the same id", async (t) => {
    const it = await scene(t, { replies: [{ text: "Hello there" }] });
    const answer = await it.openai.chat.completions.create(hi);
    assert.match(answer.id, /^chatcmpl_[0-9a-f-]{36}$/);
    assert.deepEqual(
      { ...answer, id: "", created: 0, _request_id: "" },
      {
        id: "",
        object: "chat.completion",
        created: 0,
        model: "svc",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Hello there", refusal: null },
            logprobs: null,
            finish_reason: "stop",
          },
        ],
        usage: {
          prompt_tokens: answer.usage?.prompt_tokens,
          completion_tokens: 2,
          total_tokens: (answer.usage?.prompt_tokens ?? 0) + 2,
          prompt_tokens_details: { cached_tokens: 0 },
        },
        _request_id: "",
      },
    );
    assert.ok(Math.abs(answer.created - Date.now() / 1_000) < 60);
    assert.equal(answer._request_id, answer.id);
    const state = await it.seen.state(answer.id);
    assert.deepEqual([state?.status, state?.source], ["ok", "chat-completions"]);
    assert.match(state?.sessionKey ?? "", /^agent:main:openai:[0-9a-f-]{36}$/);
  });

  it("counts what came from a cache as prompt", async (t) => {
    const usage = { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 60 } };
    const { openai } = await scene(t, { replies: [{ text: "x", usage }] });
    const answer = await openai.chat.completions.create(hi);
    assert.deepEqual(answer.usage, {
      prompt_tokens: 100,
      completion_tokens: 5,
      total_tokens: 105,
      prompt_tokens_details: { cached_tokens: 60 },
    });
  });

  it("has no usage if the model server reports none", async (t) => {
    const { openai } = await scene(t, { replies: [{ text: "x", usage: false }] });
    assert.ok(!("usage" in (await openai.chat.completions.create(hi))));
  });

  it("says when its length ended it", async (t) => {
    const { openai, server } = await scene(t, { replies: [{ text: "cut", finishReason: "length" }] });
    const answer = await openai.chat.completions.create({ ...hi, max_completion_tokens: 3 });
    assert.deepEqual([answer.choices[0]?.finish_reason, answer.choices[0]?.message.content], ["length", "cut"]);
    assert.equal(server.requests[0]?.body["max_tokens"], 3);
  });

  it("is the fixed sentence where the agent says nothing", async (t) => {
    const { openai } = await scene(t, { replies: [{ text: "" }, { text: "NO_REPLY" }] });
    for (let turn = 0; turn < 2; turn++)
      assert.equal((await openai.chat.completions.create(hi)).choices[0]?.message.content, "No response from svc.");
  });

  it("hands every option on", async (t) => {
    const { openai, server } = await scene(t, { replies: [{ text: "{}" }], model: { reasoning: true } });
    await openai.chat.completions.create({
      ...hi,
      messages: [
        { role: "developer", content: "Be brief." },
        ...hi.messages,
        { role: "system", content: "In French." },
      ],
      temperature: 0.5,
      top_p: 0.25,
      frequency_penalty: -1,
      presence_penalty: 1.5,
      seed: 7,
      stop: ["END"],
      reasoning_effort: "high",
      response_format: {
        type: "json_schema",
        json_schema: { name: "shape", schema: { type: "object" }, strict: true },
      },
    });
    const { body } = server.requests[0] ?? {};
    assert.deepEqual(
      ["temperature", "top_p", "frequency_penalty", "presence_penalty", "seed", "stop", "reasoning_effort"].map(
        (name) => body?.[name],
      ),
      [0.5, 0.25, -1, 1.5, 7, ["END"], "high"],
    );
    assert.deepEqual(body?.["response_format"], {
      type: "json_schema",
      json_schema: { name: "shape", schema: { type: "object" }, strict: true },
    });
    assert.match(shown({ server })[0] ?? "", /^system: [\s\S]*Be brief\.\n\nIn French\.$/);
  });
});

describe("a streamed answer", { timeout: SUITE_MS }, () => {
  it("is a role, the pieces, how it ended, and the end", async (t) => {
    const { post } = await scene(t, { replies: [{ pieces: ["Hel", "lo"], delayMs: 5 }] });
    const response = await post({ messages: hi.messages, stream: true });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-cache");
    const all = await frames(response);
    assert.equal(all.at(-1), "data: [DONE]");
    const chunks = all.slice(0, -1).map(chunkIn);
    const [first] = chunks;
    assert.match(first?.id ?? "", /^chatcmpl_/);
    for (const { id, object, created, model, usage } of chunks)
      assert.deepEqual(
        [id, object, created, model, usage],
        [first?.id, "chat.completion.chunk", first?.created, "svc", undefined],
      );
    const choices = chunks.flatMap((chunk) => chunk.choices);
    assert.deepEqual(choices[0], { index: 0, delta: { role: "assistant" }, finish_reason: null });
    assert.deepEqual(choices.at(-1), { index: 0, delta: {}, finish_reason: "stop" });
    assert.equal(choices.map(({ delta }) => delta.content ?? "").join(""), "Hello");
    assert.ok(choices.slice(1, -1).every(({ finish_reason: reason }) => reason === null));
  });

  it("begins before the model has said anything", async (t) => {
    const { openai, server } = await scene(t, { replies: [{ text: "never", hangAfter: 0 }] });
    const stream = await openai.chat.completions.create({ ...hi, stream: true });
    const first = await stream[Symbol.asyncIterator]().next();
    assert.deepEqual(first.value?.choices[0]?.delta, { role: "assistant" });
    stream.controller.abort();
    await server.requests[0]?.closed;
  });

  it("ends with its usage when asked to, and only then", async (t) => {
    const { openai } = await scene(t, { replies: [{ text: "a b" }, { text: "a b", usage: false }] });
    const asked = { ...hi, stream: true as const, stream_options: { include_usage: true } };
    const chunks = await collected(await openai.chat.completions.create(asked));
    const last = chunks.at(-1);
    assert.deepEqual([last?.choices, last?.usage?.completion_tokens], [[], 2]);
    assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
    const unknown = await collected(await openai.chat.completions.create(asked));
    assert.deepEqual(unknown.at(-1)?.choices[0]?.finish_reason, "stop");
  });

  it("is what the client's own helper puts together", async (t) => {
    const { openai } = await scene(t, { replies: [{ text: "One two three" }] });
    const stream = openai.chat.completions.stream({ ...hi, stream_options: { include_usage: true } });
    const contents: string[] = [];
    stream.on("content", (delta) => contents.push(delta));
    const final = await stream.finalChatCompletion();
    assert.equal(final.choices[0]?.message.content, "One two three");
    assert.equal(contents.join(""), "One two three");
    assert.deepEqual([final.choices[0]?.finish_reason, final.usage?.completion_tokens], ["stop", 3]);
  });

  it("that says nothing, or NO_REPLY in pieces, is the fixed sentence; one that only begins like it is itself", async (t) => {
    const { openai } = await scene(t, {
      replies: [
        { text: "" },
        { pieces: ["NO", "_REPLY"], delayMs: 2 },
        { pieces: ["NO", " way"], delayMs: 2 },
        { text: "short", finishReason: "length" },
      ],
    });
    const said: unknown[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const [choice] = (await openai.chat.completions.stream(hi).finalChatCompletion()).choices;
      said.push([choice?.message.content, choice?.finish_reason]);
    }
    assert.deepEqual(said, [
      ["No response from svc.", "stop"],
      ["No response from svc.", "stop"],
      ["NO way", "stop"],
      ["short", "length"],
    ]);
  });
});

describe("agents and sessions", { timeout: SUITE_MS }, () => {
  const rows: [what: string, model: string, headers: Record<string, string>, key: RegExp][] = [
    ["the default by its name", "svc/default", {}, /^agent:main:openai:/],
    ["the default for a name of some model", "gpt-4o", {}, /^agent:main:openai:/],
    ["svc:<id>", "svc:helper", {}, /^agent:helper:openai:/],
    ["svc/<id>", "svc/helper", {}, /^agent:helper:openai:/],
    ["agent:<id> in capitals", "AGENT:Helper", {}, /^agent:helper:openai:/],
    ["an alias", "acme:helper", {}, /^agent:helper:openai:/],
    ["the header before the model", "svc:main", { "x-svc-agent-id": "helper" }, /^agent:helper:openai:/],
    ["its other name", "svc", { "x-svc-agent": "helper" }, /^agent:helper:openai:/],
    ["a header by an alias", "svc", { "x-acme-agent-id": "helper" }, /^agent:helper:openai:/],
    [
      "a session before the agent",
      "svc:main",
      { "x-svc-session-key": " agent:helper:Mine ", "x-svc-agent": "main" },
      /^agent:helper:mine$/,
    ],
    ["a session without an agent", "svc:helper", { "x-svc-session-key": "mine" }, /^agent:main:mine$/],
  ];
  it("are those that are named", async (t) => {
    const { openai, seen } = await scene(t, {
      gateway: { aliases: ["acme"], http: { endpoints: { chatCompletions: { enabled: true } } } },
    });
    for (const [what, model, headers, key] of rows) {
      const answer = await openai.chat.completions.create({ ...hi, model }, { headers });
      assert.equal(answer.model, model, what);
      assert.match((await seen.state(answer.id))?.sessionKey ?? "", key, what);
    }
  });

  it("run the agent's own prompt and the model the header asks for", async (t) => {
    const it = await scene(t);
    await it.openai.chat.completions.create(
      { ...hi, model: "svc:helper" },
      { headers: { "x-svc-model": "fake/other-model" } },
    );
    assert.match(shown(it)[0] ?? "", /I am the helper\./);
    assert.equal(it.server.requests[0]?.body.model, "other-model");
  });

  it("of one user go on where only the new message is sent", async (t) => {
    const it = await scene(t, { replies: [{ text: "Hello Ada" }, { text: "Ada" }] });
    const ask = (content: string) =>
      it.openai.chat.completions.create({ ...hi, user: "Ada@Example", messages: [{ role: "user", content }] });
    await ask("I am Ada");
    const { id } = await ask("Who am I?");
    assert.equal((await it.seen.state(id))?.sessionKey, "agent:main:openai-user:ada@example");
    const lines = shown(it, 1).filter((line) => !line.startsWith("system"));
    assert.deepEqual(
      lines.map((line) => line.replace(/\[.*?\] /, "")),
      ["user: I am Ada", "assistant: Hello Ada", "user: Who am I?"],
    );
  });

  it("are shown the conversation the caller sends, and not the session's beside it", async (t) => {
    const it = await scene(t);
    const user = "ada";
    await it.openai.chat.completions.create({ ...hi, user });
    await it.openai.chat.completions.create({
      model: "svc",
      user,
      messages: [
        { role: "user", content: "one" },
        { role: "assistant", content: "two" },
        { role: "user", content: "three" },
      ],
    });
    const lines = shown(it, 1).filter((line) => !line.startsWith("system"));
    assert.deepEqual(
      lines.map((line) => line.replace(/\[.*?\] /, "")),
      ["user: one", "assistant: two", "user: three"],
    );
  });

  it("keep what an assistant said first, and forget nothing without a user", async (t) => {
    const it = await scene(t);
    const messages = [
      { role: "assistant" as const, content: "Welcome" },
      { role: "user" as const, content: "thanks" },
    ];
    await it.openai.chat.completions.create({ model: "svc", messages });
    assert.ok(shown(it).includes("assistant: Welcome"));
    await it.openai.chat.completions.create(hi);
    assert.equal(shown(it, 1).filter((line) => !line.startsWith("system")).length, 1);
  });
});
