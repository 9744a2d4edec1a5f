import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import type { ModelEvent } from "@svc/sdk/models";
import { type FallbackData, ModelChain } from "../../../../plugins/agents/runs/model-chain.ts";
import { model } from "../fixture.ts";
import { type Answer, failsWith, says } from "../script.ts";

const down = new GatewayError("UNAVAILABLE", "down");
const second = { ...model, id: "two" };
const third = { ...model, id: "three" };

function chain(answers: Record<string, Answer>) {
  const fallbacks: FallbackData[] = [];
  const asked: string[] = [];
  const controller = new AbortController();
  const models = new ModelChain(
    [model, second, third],
    (used, messages) => {
      asked.push(used.id);
      const answer = answers[used.id] ?? says("fine");
      return answer({ model: used, system: "", messages, tools: [] }, controller.signal);
    },
    (data) => void fallbacks.push(data),
  );
  const ask = async () => {
    const events: ModelEvent[] = [];
    for await (const event of models.ask([], controller.signal)) events.push(event);
    return events;
  };
  return { models, ask, asked, fallbacks, controller };
}

describe("model chain", () => {
  it("asks the first model and no other while it answers", async () => {
    const { ask, asked, fallbacks } = chain({});
    await ask();
    assert.deepEqual([asked, fallbacks], [["one"], []]);
  });

  it("goes on with the next one when a model cannot be used, stays with it, and tells", async () => {
    const { models, ask, asked, fallbacks } = chain({ one: failsWith(down), two: failsWith(new Error("secret")) });
    await ask();
    await ask();
    assert.deepEqual(asked, ["one", "two", "three", "three"]);
    assert.equal(models.current.id, "three");
    assert.deepEqual(fallbacks[1], {
      phase: "fallback",
      selectedProvider: "fake",
      selectedModel: "one",
      activeProvider: "fake",
      activeModel: "three",
      reasonSummary: "the model request failed",
      attemptSummaries: ["fake/one: down", "fake/two: the model request failed"],
      attempts: [
        { provider: "fake", model: "one", error: "down" },
        { provider: "fake", model: "two", error: "the model request failed" },
      ],
    });
  });

  it("does not change the model in the middle of an answer", async () => {
    const { ask, asked } = chain({ one: failsWith(down, "Half") });
    await assert.rejects(ask(), down);
    assert.deepEqual(asked, ["one"]);
  });

  it("fails as the last model does", async () => {
    const last = new GatewayError("UNAVAILABLE", "last");
    const { ask } = chain({ one: failsWith(down), two: failsWith(down), three: failsWith(last) });
    await assert.rejects(ask(), last);
  });

  it("asks nobody else after an abort", async () => {
    const { ask, asked, controller } = chain({ one: failsWith(down) });
    controller.abort();
    await assert.rejects(ask(), down);
    assert.deepEqual(asked, ["one"]);
  });
});
