import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { OpenQuestions } from "@svc/kit/exec";
import { execApprovalRequested, execApprovalResolved } from "@svc/sdk/approvals";
import { createFakeClock } from "@svc/sdk/testing";
import { createConversation } from "../../../plugins/chat/conversation.ts";
import { converse, interrupt, say, showHistory, type Terminal } from "../../../plugins/chat/terminal.ts";
import { createPrinter, historyLines, PLAIN, toolLine } from "../../../plugins/chat/transcript-view.ts";
import { createFakeClient, settle } from "./chat-client.ts";

const history = { messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }] };

function open() {
  const fake = createFakeClient({
    "chat.history": () => history,
    "chat.abort": () => ({ ok: true, aborted: true, runIds: [] }),
  });
  let ids = 0;
  const conversation = createConversation({ client: fake.client, sessionKey: "main", newId: () => `r${++ids}` });
  const input = new PassThrough();
  const output = new PassThrough();
  const notes: string[] = [];
  const terminal: Terminal = { input, output, style: PLAIN, note: (line) => void notes.push(line) };
  const printed = () => String(output.read() ?? "");
  const messages = () =>
    fake.calls
      .filter(([method]) => method === "chat.send")
      .map(([, params]) => (params as { message: string }).message);
  return { ...fake, conversation, terminal, input, notes, printed, messages };
}

/** A line goes through the terminal, and its reply through the conversation. */
async function settled() {
  await settle();
  await settle();
}

describe("a reply in the terminal", () => {
  it("is printed once, piece by piece, though its texts are cumulative", async () => {
    const { conversation, terminal, says, printed } = open();
    const reply = say(conversation, "hi", terminal);
    says("r1", "delta", "Hel");
    says("r1", "delta", "Hello");
    says("r1", "final", "Hello you");
    await reply;
    assert.equal(printed(), "Hello you\n");
  });

  it("starts a new line where the text starts over after a tool", async () => {
    const { conversation, terminal, says, usesTool, printed, notes } = open();
    const reply = say(conversation, "hi", terminal);
    says("r1", "delta", "Let me look.");
    usesTool("r1", { phase: "start", name: "read" });
    usesTool("r1", { phase: "result", name: "read", isError: false });
    says("r1", "delta", "It is");
    says("r1", "final", "It is 3.");
    await reply;
    assert.equal(printed(), "Let me look.\nIt is 3.\n");
    assert.deepEqual(notes, ["  tool read"]);
  });

  const ends: [what: string, end: Parameters<ReturnType<typeof open>["says"]>, out: string, note: string][] = [
    ["had nothing to say", ["r1", "final"], "", "(no reply)"],
    ["was stopped", ["r1", "aborted", "Hel", { stopReason: "rpc" }], "Hel\n", "(stopped)"],
    ["was left out", ["r1", "aborted", "", { stopReason: "dropped" }], "", "(stopped: dropped)"],
    ["failed", ["r1", "error", "", { errorMessage: "no model" }], "", "The reply failed: no model"],
  ];
  for (const [what, end, out, note] of ends) {
    it(`reports when the agent ${what}`, async () => {
      const { conversation, terminal, says, printed, notes } = open();
      const reply = say(conversation, "hi", terminal);
      says(...end);
      await reply;
      assert.deepEqual([printed(), notes], [out, [note]]);
    });
  }
});

describe("lines from a pipe", () => {
  it("are sent in sequence, without blank ones", async () => {
    const { conversation, terminal, input, says, calls, printed, messages } = open();
    const done = converse(conversation, terminal, { interactive: false });
    input.end("one\n\n/quit\n");
    await settled();
    assert.equal(calls.length, 1);
    says("r1", "final", "1");
    await settled();
    says("r2", "final", "2");
    assert.equal(await done, 0);
    assert.deepEqual(messages(), ["one", "/quit"]);
    assert.equal(printed(), "1\n2\n");
  });

  it("make the exit code 1 when a reply failed", async () => {
    const { conversation, terminal, input, says } = open();
    const done = converse(conversation, terminal, { interactive: false });
    input.end("one\n");
    await settled();
    says("r1", "error");
    assert.equal(await done, 1);
  });
});

describe("lines of a person", () => {
  it("may be local commands, which are not sent", async () => {
    const { conversation, terminal, input, calls, printed, notes } = open();
    const done = converse(conversation, terminal, { interactive: true });
    input.end("/history 5\n/quit\nnever\n");
    assert.equal(await done, 0);
    assert.deepEqual([calls, notes], [[["chat.history", { sessionKey: "main", limit: 5 }]], []]);
    assert.match(printed(), /you: hi/);
  });

  it("ask the gateway for its commands after the local ones, and leave an unknown command to it", async () => {
    const { conversation, terminal, input, says, messages, printed } = open();
    const done = converse(conversation, terminal, { interactive: true });
    for (const [at, line, reply] of [
      [1, "/help", "/compact: shorten"],
      [2, "/nope at all", "Unknown command /nope."],
    ] as const) {
      input.write(`${line}\n`);
      await settled();
      says(`r${at}`, "final", reply);
      await settled();
    }
    input.end("/quit\n");
    assert.equal(await done, 0);
    assert.deepEqual(messages(), ["/help", "/nope at all"]);
    assert.match(printed(), /\/history[^]*Ctrl-C[^]*\/compact: shorten[^]*Unknown command/);
  });

  it("go to the gateway when they are its commands", async () => {
    const { conversation, terminal, input, says, messages, notes } = open();
    const done = converse(conversation, terminal, { interactive: true });
    input.write("/trust\n");
    await settled();
    says("r1", "final", "trusted");
    await settled();
    input.end("/quit\n");
    assert.equal(await done, 0);
    assert.deepEqual([messages(), notes], [["/trust"], []]);
  });

  it("end with 1 and the next step when the connection is lost", async () => {
    const { conversation, terminal, breaks, notes } = open();
    const done = converse(conversation, terminal, { interactive: true });
    await settle();
    breaks();
    assert.equal(await done, 1);
    assert.match(notes.join("\n"), /1012 service restart[^]*svc gateway probe/);
  });
});

describe("questions that wait for an operator", () => {
  /** A conversation that watches questions, with one that is asked. */
  function watching() {
    const scene = open();
    const clock = createFakeClock();
    const done = converse(scene.conversation, scene.terminal, {
      interactive: true,
      questions: async (tell) => new OpenQuestions(scene.client, tell, clock),
    });
    const types = async (line: string) => {
      scene.input.write(`${line}\n`);
      await settled();
    };
    const decisions = () =>
      scene.calls.filter(([method]) => method === "exec.approval.resolve").map(([, params]) => params);
    return { ...scene, clock, done, types, decisions };
  }

  it("are shown while the reply waits for them, and answered by a line that is not a message", async () => {
    const { types, tells, says, clock, printed, decisions, messages, notes, done } = watching();
    await types("status");
    tells(execApprovalRequested.name, asked("q1", clock.now() + 60_000));
    assert.match(printed(), /A decision is needed:\n {2}command {6}rm -r \\u001b\[2J build\n[^]*Allow\? y: once/);
    await types("sure, go on");
    assert.deepEqual(notes, ["Allow? y: once, always: exactly this for 90 days, n: no"]);
    await types("Y");
    assert.deepEqual(decisions(), [{ id: "q1", decision: "allow-once" }]);
    tells(execApprovalResolved.name, { id: "q1", decision: "allow-once", resolvedBy: "cli", ts: 1 });
    assert.match(printed(), /allowed once by cli: rm -r/);
    says("r1", "final", "done");
    await settle();
    await types("y");
    assert.deepEqual(messages(), ["status", "y"], "without a question it is a message");
    says("r2", "final");
    await types("/quit");
    assert.equal(await done, 0);
  });

  it("of other sessions do not affect the conversation, expire, and are answered in order", async () => {
    const { types, tells, clock, printed, decisions, messages, says, done } = watching();
    await settle();
    for (const id of ["q1", "q2", "q3"])
      tells(execApprovalRequested.name, asked(id, clock.now() + (id === "q1" ? 1_000 : 60_000)));
    await clock.advance(1_000);
    assert.match(printed(), /nobody answered in time: rm -r/);
    await types("hello");
    assert.deepEqual(messages(), ["hello"]);
    says("r1", "final");
    await types("always");
    tells(execApprovalResolved.name, { id: "q2", decision: "allow-always", ts: 1 });
    await types("n");
    assert.deepEqual(decisions(), [
      { id: "q2", decision: "allow-always" },
      { id: "q3", decision: "deny" },
    ]);
    await types("/quit");
    await done;
  });

  it("accept s if they offer a session answer, and show it", async () => {
    const { types, tells, clock, printed, decisions, messages, says, done } = watching();
    await settle();
    tells(execApprovalRequested.name, asked("q1", clock.now() + 60_000));
    tells(execApprovalRequested.name, asked("q2", clock.now() + 60_000, "every rm"));
    const shown = printed();
    assert.match(shown, /build\n[^]*Allow\? y: once, always: /);
    assert.match(shown, /for session {2}every rm\n[^]*once, s: every rm for 1 h,/);
    await types("s");
    assert.deepEqual([decisions(), messages()], [[], ["s"]], "not offered by the oldest: it is a message");
    says("r1", "final");
    await settle();
    await types("n");
    tells(execApprovalResolved.name, { id: "q1", decision: "deny", ts: 1 });
    await types("s");
    assert.deepEqual(decisions()[1], { id: "q2", decision: "allow-always", grant: { for: "session" } });
    const grant = { for: "session", expiresAtMs: 0 };
    tells(execApprovalResolved.name, { id: "q2", decision: "allow-once", ts: 1, grant });
    assert.match(printed(), /allowed until 1970-01-01 00:00:00Z: every rm\n/);
    await types("/quit");
    await done;
  });

  it("are kept if they arrive while pending ones are read", async () => {
    const fake = createFakeClient({
      "exec.approval.list": () => {
        fake.tells(execApprovalRequested.name, asked("new", clock.now() + 60_000));
        return { approvals: [] };
      },
    });
    const clock = createFakeClock();
    const questions = new OpenQuestions(fake.client, () => {}, clock);
    fake.tells(execApprovalRequested.name, asked("over", clock.now() + 60_000));
    await questions.refresh();
    assert.equal(questions.first?.id, "new");
    questions.close();
  });
});

/** In the form of the event. */
function asked(id: string, expiresAtMs: number, session?: string) {
  const request = { command: "rm -r \u001b[2J build", nodeId: null, ...(session !== undefined && { session }) };
  return { id, request, createdAtMs: 0, expiresAtMs };
}

describe("Ctrl-C", () => {
  it("leaves at the prompt and stops a reply in progress", async () => {
    const { conversation, terminal, says, calls } = open();
    let left = 0;
    await interrupt(conversation, terminal.note, () => left++);
    assert.equal(left, 1);
    const reply = say(conversation, "hi", terminal);
    await interrupt(conversation, terminal.note, () => left++);
    assert.equal(left, 1);
    assert.equal(calls.at(-1)?.[0], "chat.abort");
    says("r1", "aborted");
    await reply;
  });
});

describe("the view of a transcript", () => {
  it("shows senders and texts, tool calls and images in one line, and no tool results", () => {
    const text = (words: string) => ({ type: "text", text: words });
    const messages = [
      { role: "user", content: [text("look"), { type: "image", omitted: true }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "toolCall", name: "read" },
        ],
      },
      { role: "toolResult", content: [text("bytes")] },
      { role: "assistant", content: "old form" },
      null,
    ];
    assert.deepEqual(historyLines(messages, PLAIN), ["you: look", "you: [image]", "  tool read", "agent: old form"]);
  });

  it("prints no history for a limit of 0", async () => {
    const { conversation, terminal, calls } = open();
    await showHistory(conversation, 0, terminal);
    assert.deepEqual(calls, []);
  });

  it("names a tool at its start and when it failed", () => {
    assert.equal(toolLine({ phase: "start", name: "read" }), "tool read");
    assert.equal(toolLine({ phase: "result", name: "read", isError: true }), "tool read failed");
    assert.equal(toolLine({ phase: "result", name: "read", isError: false }), undefined);
  });

  it("continues the line if the text only grew after a tool call", () => {
    const { next, lineEnd } = createPrinter();
    assert.deepEqual([next("one "), lineEnd(), next("one two"), lineEnd(), lineEnd()], ["one ", "\n", "two", "\n", ""]);
  });
});
