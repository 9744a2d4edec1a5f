/** Runs that bring conversation and tools of their own along. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type AssistantMessage,
  type Message,
  type ModelRequest,
  textOf,
  type ToolResultMessage,
  type ToolSpec,
} from "@svc/sdk/models";
import { type FixtureOptions, outline, run, start } from "../fixture.ts";
import { type Answer, calls, inTurn, MAIN, plainTool, says, usage, user, watched } from "../script.ts";

const weather: ToolSpec = { name: "weather", description: "Tells the weather", parameters: { type: "object" } };

const clock = plainTool(() => "noon");

/** A gateway whose model is watched. */
async function open(t: TestContext, answer: Answer, options: FixtureOptions = {}) {
  const model = watched(answer);
  return { gateway: await start(t, { ...options, answer: model.answer }), asked: model.asked };
}

const answerTo = (id: string, text: string): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "weather",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: 1,
});

const said = (text: string): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "x",
  provider: "x",
  model: "x",
  usage: usage(1, 1),
  stopReason: "stop",
  timestamp: 0,
});

const names = ({ tools }: ModelRequest) => tools.map(({ name }) => name);
const shown = ({ messages }: ModelRequest) => messages.map((message) => `${message.role}: ${textOf(message)}`);

describe("independent tools", () => {
  it("run side by side, and look to the model like any other", async (t) => {
    const running = new Set<string>();
    const waiting: (() => void)[] = [];
    const meet = (name: string) => ({
      ...plainTool(async () => {
        const met = new Promise<void>((resolve) => waiting.push(resolve));
        if (running.add(name).size === 2) for (const resolve of waiting) resolve();
        await met;
        return name;
      }),
      independent: true,
    });
    const answer = inTurn(says(calls("left"), calls("right")), says("done"));
    const { gateway, asked } = await open(t, answer, { tools: { left: meet("left"), right: meet("right") } });
    assert.equal((await run(gateway, "r1")).text, "done");
    assert.deepEqual((await outline(gateway)).slice(-3), ["toolResult: left", "toolResult: right", "assistant: done"]);
    assert.deepEqual(
      asked[0]?.tools.map((tool) => Object.keys(tool).toSorted()),
      [
        ["description", "name", "parameters"],
        ["description", "name", "parameters"],
      ],
    );
  });
});

describe("tools of the caller", () => {
  it("end the run with their calls, which a further run answers", async (t) => {
    const { gateway, asked } = await open(
      t,
      inTurn(says("Let me see", calls("weather", { city: "Ulm" })), says("It rains")),
    );
    const first = await run(gateway, "r1", { clientTools: [weather] });
    assert.deepEqual([first.status, first.stopReason, first.text], ["ok", "toolUse", "Let me see"]);
    assert.deepEqual(first.pendingCalls, [
      { type: "toolCall", id: "call-weather", name: "weather", arguments: { city: "Ulm" } },
    ]);
    const second = await run(gateway, "r2", { message: "", toolResults: [answerTo("call-weather", "rain")] });
    assert.deepEqual([second.text, second.pendingCalls], ["It rains", undefined]);
    assert.deepEqual(
      asked[1]?.messages.map(({ role }) => role),
      ["user", "assistant", "toolResult"],
    );
    assert.deepEqual(await outline(gateway), [
      "user: hello from r1",
      "assistant: Let me see",
      "toolResult: rain",
      "assistant: It rains",
    ]);
  });

  it("that nobody answered count as unanswered in the next run", async (t) => {
    const { gateway, asked } = await open(t, inTurn(says(calls("weather")), says("fine")));
    await run(gateway, "r1", { clientTools: [weather] });
    assert.equal((await run(gateway, "r2")).text, "fine");
    assert.match(String(asked[1] && shown(asked[1])[2]), /^toolResult: No result/);
  });

  it("let the gateway's own calls of the same answer run first", async (t) => {
    const { gateway, asked } = await open(t, inTurn(says(calls("clock"), calls("weather")), says("fine")), {
      tools: { clock },
    });
    const outcome = await run(gateway, "r1", { clientTools: [weather] });
    assert.deepEqual(
      outcome.pendingCalls?.map(({ name }) => name),
      ["weather"],
    );
    assert.equal(asked.length, 1);
    assert.deepEqual((await outline(gateway)).slice(1), ["assistant: ", "toolResult: noon"]);
    await run(gateway, "r2", { message: "", toolResults: [answerTo("call-weather", "sun")] });
    assert.deepEqual(asked[1] && shown(asked[1]).slice(1), ["assistant: ", "toolResult: noon", "toolResult: sun"]);
  });

  it("stand in for the gateway's own of the same name", async (t) => {
    const mine = { ...weather, name: "clock" };
    const { gateway, asked } = await open(t, says("fine"), { tools: { clock } });
    await run(gateway, "r1", { clientTools: [mine] });
    assert.deepEqual(asked[0]?.tools, [mine]);
  });

  it("are alone on the first question that demands a call, and a name is passed on", async (t) => {
    const { gateway, asked } = await open(t, says(calls("weather")), { tools: { clock } });
    await run(gateway, "r1", { clientTools: [weather], toolChoice: { name: "weather" } });
    assert.deepEqual([asked[0] && names(asked[0]), asked[0]?.toolChoice], [["weather"], { name: "weather" }]);
  });

  it("make the run an error when a demanded call does not come", async (t) => {
    const { gateway } = await open(t, says("I would rather talk"));
    const outcome = await run(gateway, "r1", { clientTools: [weather], toolChoice: "required" });
    assert.deepEqual([outcome.status, outcome.calledTools], ["error", false]);
    assert.match(String(outcome.errorMessage), /called no tool/);
  });

  it("are taken away by `none`, the gateway's own stay", async (t) => {
    const { gateway, asked } = await open(t, says("fine"), { tools: { clock } });
    await run(gateway, "r1", { clientTools: [weather], toolChoice: "none" });
    assert.deepEqual([asked[0] && names(asked[0]), asked[0]?.toolChoice], [["clock"], undefined]);
  });

  it("and options reach the model", async (t) => {
    const { gateway, asked } = await open(t, says("fine"));
    await run(gateway, "r1", { answerOptions: { maxTokens: 5, stop: ["x"] } });
    assert.deepEqual(asked[0]?.options, { maxTokens: 5, stop: ["x"] });
  });
});

describe("a conversation the caller brings along", () => {
  const history: readonly Message[] = [user("My name is Ada", [], 0), said("Hello Ada")];

  it("is shown as it is and taken over by a session without messages", async (t) => {
    const { gateway, asked } = await open(t, says("Ada"));
    await run(gateway, "r1", { history, message: "Who am I?" });
    const [first, second, third] = asked[0] ? shown(asked[0]) : [];
    assert.deepEqual([first, second], ["user: My name is Ada", "assistant: Hello Ada"]);
    assert.match(String(third), /Who am I\?$/);
    assert.deepEqual(await outline(gateway), [
      "user: My name is Ada",
      "assistant: Hello Ada",
      "user: Who am I?",
      "assistant: Ada",
    ]);
  });

  it("stands in for that of a session which has one, and is not stored there", async (t) => {
    const { gateway, asked } = await open(t, says("fine"));
    await run(gateway, "r1");
    await run(gateway, "r2", { history, message: "Who am I?" });
    assert.deepEqual(asked[1] && shown(asked[1]).slice(0, 2), ["user: My name is Ada", "assistant: Hello Ada"]);
    assert.equal(asked[1]?.messages.length, 3);
    assert.deepEqual(await outline(gateway), [
      "user: hello from r1",
      "assistant: fine",
      "user: Who am I?",
      "assistant: fine",
    ]);
  });

  it("may end in calls that this run answers", async (t) => {
    const { gateway, asked } = await open(t, says("It rains"));
    const call = { ...said(""), content: [{ type: "toolCall" as const, id: "c9", name: "weather", arguments: {} }] };
    const outcome = await run(gateway, "r1", {
      sessionKey: MAIN,
      history: [user("Weather?", [], 0), call],
      message: "",
      toolResults: [answerTo("c9", "rain")],
    });
    assert.equal(outcome.text, "It rains");
    assert.deepEqual(asked[0] && shown(asked[0]), ["user: Weather?", "assistant: ", "toolResult: rain"]);
  });
});
