import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { RunEvent } from "@svc/sdk/agents";
import type { Message, ToolCallBlock } from "@svc/sdk/models";
import type { ToolResult } from "@svc/sdk/tools";
import { runTurn, type TurnResult } from "../../../../plugins/agents/runs/turn.ts";
import { createFakeClock } from "../fake-clock.ts";
import { model } from "../fixture.ts";
import { type Answer, calls, failsWith, hangsAfter, inTurn, says, usage, user } from "../script.ts";

interface Options {
  readonly answer: Answer;
  readonly useTool?: (call: ToolCallBlock, signal: AbortSignal) => Promise<ToolResult>;
  readonly isIndependent?: (name: string) => boolean;
  readonly maxToolRounds?: number;
  readonly record?: (messages: readonly Message[]) => Promise<void>;
  /** Called with each event; may abort. */
  readonly onEvent?: (event: Pick<RunEvent, "stream" | "data">, abort: (reason: string) => void) => void;
}

interface Turned {
  readonly result: TurnResult;
  readonly recorded: Message[];
  readonly events: Pick<RunEvent, "stream" | "data">[];
  /** What the model saw, question by question. */
  readonly asked: Message[][];
}

const text = (words: string): ToolResult => ({ content: [{ type: "text", text: words }] });

async function turn({ answer, useTool, maxToolRounds = 5, onEvent, ...more }: Options): Promise<Turned> {
  const turned: Omit<Turned, "result"> = { recorded: [], events: [], asked: [] };
  const controller = new AbortController();
  let reason = "";
  const abort = (why: string) => {
    reason = why;
    controller.abort();
  };
  const result = await runTurn({
    runId: "r1",
    history: [user("question")],
    maxToolRounds,
    signal: controller.signal,
    abortReason: () => reason,
    ask: (messages) => {
      turned.asked.push([...messages]);
      return answer({ model, system: "", messages, tools: [] }, controller.signal);
    },
    model: () => model,
    useTool: (call) => (useTool ? useTool(call, controller.signal) : Promise.resolve(text(`${call.name} done`))),
    emit: (stream, data) => {
      turned.events.push({ stream, data });
      onEvent?.({ stream, data }, abort);
    },
    record: async (messages) => void turned.recorded.push(...messages),
    maxAnswerChars: 1_000,
    clock: createFakeClock(7),
    ...more,
  });
  return { ...turned, result };
}

const author = { api: "scripted", provider: "fake", model: "one", timestamp: 7 };

describe("turn", () => {
  it("streams the answer and leaves it to be stored with the end", async () => {
    const { result, recorded, events } = await turn({ answer: says("Hel", "lo") });
    assert.deepEqual(events, [
      { stream: "assistant", data: { text: "Hel", delta: "Hel" } },
      { stream: "assistant", data: { text: "Hello", delta: "lo" } },
    ]);
    const content = [{ type: "text", text: "Hello" }];
    const message = { role: "assistant", content, ...author, usage: usage(10, 5), stopReason: "stop" };
    assert.deepEqual(recorded, []);
    assert.deepEqual(result, {
      status: "ok",
      text: "Hello",
      calledTools: false,
      message,
      closing: [message],
      usage: usage(10, 5),
      lastUsage: usage(10, 5),
    });
  });

  it("runs the tools the model calls, one after the other, and asks again", async () => {
    const answer = inTurn(says("Let me look.", calls("clock"), calls("map")), says("Noon."));
    const { result, recorded, events, asked } = await turn({ answer });
    assert.deepEqual(
      recorded.map(({ role, content }) => [role, content.map(({ type }) => type).join()]),
      [
        ["assistant", "text,toolCall,toolCall"],
        ["toolResult", "text"],
        ["toolResult", "text"],
      ],
    );
    assert.deepEqual(asked[1], [user("question"), ...recorded]);
    assert.deepEqual(
      events.filter(({ stream }) => stream === "tool").map(({ data }) => data),
      [
        { phase: "start", name: "clock", toolCallId: "call-clock", args: {} },
        { phase: "result", name: "clock", toolCallId: "call-clock", isError: false, result: text("clock done") },
        { phase: "start", name: "map", toolCallId: "call-map", args: {} },
        { phase: "result", name: "map", toolCallId: "call-map", isError: false, result: text("map done") },
      ],
    );
    assert.deepEqual([result.status, result.text, result.usage?.totalTokens], ["ok", "Let me look.\n\nNoon.", 30]);
    assert.deepEqual(result.lastUsage, usage(10, 5));
  });

  it("adds what is said after tools to the text", async () => {
    const { events } = await turn({ answer: inTurn(says("Long words first.", calls("clock")), says("No", "on")) });
    const texts = events.filter(({ stream }) => stream === "assistant").map(({ data }) => data["text"]);
    assert.deepEqual(texts, ["Long words first.", "Long words first.\n\nNo", "Long words first.\n\nNoon"]);
  });

  it("is silent when the last answer is", async () => {
    const { result } = await turn({ answer: inTurn(says("Sent it.", calls("clock")), says("NO_REPLY")) });
    assert.equal(result.text, "NO_REPLY");
  });

  it("keeps the words before the tools when there are none after", async () => {
    const { result } = await turn({ answer: inTurn(says("Done.", calls("clock")), says()) });
    assert.deepEqual([result.status, result.text], ["ok", "Done."]);
  });

  it("keeps the signature of a thought, which closes it", async () => {
    const { result, events } = await turn({
      answer: says(
        { type: "thinking", delta: "hm" },
        { type: "thinking", delta: "", signature: "s1" },
        { type: "thinking", delta: "well" },
        "Hello",
      ),
    });
    assert.deepEqual(result.message?.content, [
      { type: "thinking", thinking: "hm", thinkingSignature: "s1" },
      { type: "thinking", thinking: "well" },
      { type: "text", text: "Hello" },
    ]);
    assert.deepEqual(
      events.filter(({ stream }) => stream === "thinking").map(({ data }) => data["text"]),
      ["hm", "hmwell"],
    );
  });

  it("tells the model about a tool that failed", async () => {
    const useTool = async () => ({ ...text("no such file"), isError: true });
    const { recorded, events } = await turn({ answer: inTurn(says(calls("read")), says("Sorry.")), useTool });
    assert.equal(recorded[1]?.role === "toolResult" && recorded[1].isError, true);
    assert.equal(events.findLast(({ stream }) => stream === "tool")?.data["isError"], true);
  });

  it("ends in an error that names the setting when the model keeps calling tools", async () => {
    const { result, recorded } = await turn({ answer: says("more", calls("clock")), maxToolRounds: 2 });
    assert.equal(result.status, "error");
    assert.match(result.errorMessage ?? "", /2 rounds.*agents\.defaults\.maxToolRounds/);
    assert.equal(recorded.length, 4);
    const [last, ...others] = result.closing;
    assert.equal(others.length, 0);
    assert.deepEqual(last?.content, [{ type: "text", text: "more" }], "the call nobody answers is left out");
  });

  const failures: [string, Error, string][] = [
    [
      "tells what a refusal says",
      new GatewayError("UNAVAILABLE", "the model server is down"),
      "the model server is down",
    ],
    ["hides what an unexpected error says", new Error("secret stack"), "the agent run failed"],
  ];
  for (const [what, error, told] of failures) {
    it(`${what}, and keeps what was said before`, async () => {
      const { result } = await turn({ answer: failsWith(error, "Half") });
      assert.deepEqual([result.status, result.text, result.errorMessage], ["error", "Half", told]);
      assert.equal(result.cause, error);
      const content = [{ type: "text", text: "Half" }];
      assert.deepEqual(result.closing, [
        { role: "assistant", content, ...author, stopReason: "error", errorMessage: told },
      ]);
    });
  }

  it("takes a stream that ends without a finish for an error", async () => {
    const { result } = await turn({
      answer: async function* () {
        yield { type: "text", delta: "Half" };
      },
    });
    assert.deepEqual([result.status, result.text], ["error", "Half"]);
  });

  it("stops at once while a model that ignores the signal is silent, and keeps its words", async () => {
    const { result } = await turn({ answer: hangsAfter("Half"), onEvent: (_event, abort) => abort("stop") });
    assert.deepEqual([result.status, result.text], ["aborted", "Half"]);
    assert.deepEqual(result.closing, [
      {
        role: "assistant",
        content: [{ type: "text", text: "Half" }],
        api: "openai-responses",
        provider: "svc",
        model: "gateway-injected",
        stopReason: "aborted",
        timestamp: 7,
        idempotencyKey: "r1:assistant",
        svcAbort: { aborted: true, origin: "stop-command", runId: "r1" },
      },
    ]);
  });

  it("answers the open calls of a turn that is stopped in a tool, and does not repeat recorded words", async () => {
    const answer = says("Looking.", calls("slow"), calls("later"));
    const { result, recorded, events } = await turn({
      answer,
      useTool: (_call, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
      onEvent: ({ stream }, abort) => stream === "tool" && queueMicrotask(() => abort("rpc")),
    });
    assert.equal(recorded.length, 1);
    assert.deepEqual([result.status, result.text], ["aborted", "Looking."]);
    assert.deepEqual(
      result.closing.map((message) => message.role === "toolResult" && [message.toolCallId, message.isError]),
      [
        ["call-slow", true],
        ["call-later", true],
      ],
    );
    assert.equal(events.filter(({ stream }) => stream === "tool").length, 1, "the second tool never starts");
  });

  it("runs neighbouring calls of independent tools side by side, and records their results in the order of the calls", async () => {
    const names = ["write", "look", "look-slow", "look", "write"];
    const answer = inTurn(says(...names.map((name, index) => calls(name, {}, `${index}`))), says("done"));
    const running = new Set<string>();
    const seen: string[] = [];
    const releases: (() => void)[] = [];
    const { recorded, result } = await turn({
      answer,
      isIndependent: (name) => name.startsWith("look"),
      async useTool({ id, name }) {
        running.add(id);
        seen.push([...running].join());
        if (name === "look-slow") await new Promise<void>((resolve) => releases.push(resolve));
        else await Promise.resolve();
        running.delete(id);
        if (id === "3") for (const release of releases) release();
        return text(name);
      },
    });
    assert.deepEqual(seen, ["0", "1", "1,2", "1,2,3", "4"]);
    assert.equal(result.status, "ok");
    assert.deepEqual(
      recorded.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])),
      ["0", "1", "2", "3", "4"],
    );
  });

  it("runs at most 8 calls side by side", async () => {
    let running = 0;
    let most = 0;
    const answer = inTurn(
      says(...Array.from({ length: 20 }, (_, index) => calls("look", {}, `${index}`))),
      says("done"),
    );
    await turn({
      answer,
      isIndependent: () => true,
      async useTool() {
        most = Math.max(most, (running += 1));
        await new Promise(setImmediate);
        running -= 1;
        return text("seen");
      },
    });
    assert.equal(most, 8);
  });

  it("keeps the results before a call that cannot be recorded, and answers the others", async () => {
    const answer = says(calls("look", {}, "0"), calls("look", {}, "1"), calls("look", {}, "2"));
    const kept: string[] = [];
    let ended = 0;
    const { result } = await turn({
      answer,
      isIndependent: () => true,
      useTool: () => Promise.resolve(text("seen")).finally(() => (ended += 1)),
      record: async ([message]) => {
        if (message?.role !== "toolResult") return;
        if (message.toolCallId === "1") throw new Error("disk full");
        kept.push(message.toolCallId);
      },
    });
    assert.deepEqual([result.status, kept, ended], ["error", ["0"], 3]);
    assert.deepEqual(
      result.closing.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : [])),
      ["1", "2"],
    );
  });

  it("ends in an error when its answers together grow too long, and keeps what was said", async () => {
    const answer = inTurn(says("a".repeat(600), calls("look")), says("b".repeat(300), "c".repeat(300), "d"));
    const { result, recorded } = await turn({ answer });
    assert.equal(result.status, "error");
    assert.match(
      result.errorMessage ?? "",
      /^the reply was cut off after 1000 characters \(agents\.defaults\.maxAnswerChars\)/u,
    );
    assert.equal(recorded.length, 2);
    const [last] = result.closing;
    assert.deepEqual(last?.content, [{ type: "text", text: `${"b".repeat(300)}${"c".repeat(300)}` }]);
    assert.equal(last?.role === "assistant" && last.errorMessage, result.errorMessage);
  });

  it("closes the stream of a model that has finished", async () => {
    let closed = false;
    await turn({
      answer: async function* () {
        try {
          yield { type: "finish", reason: "stop" };
        } finally {
          closed = true;
        }
      },
    });
    assert.equal(closed, true);
  });
});
