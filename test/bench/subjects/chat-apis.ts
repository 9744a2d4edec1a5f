/** A model's answer through the public APIs, compared with a bare relay and with the model server itself: the overhead of the gateway. */
import { Agent } from "node:http";
import { addsAtMost, atMost, both, median, ratioAtLeast, type Row, type Target } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { ANSWERS, modelConfig, PACE_MS, startModel } from "../load/model.ts";
import { type Ask, askOverHttp, CHAT_COMPLETIONS, RESPONSES } from "../load/streams.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const PACED = 16;
const FULL_RATE = 8;
/** Answers in a round of one stream at full rate. */
const BURSTS = 10;
const ENDPOINTS = { chatCompletions: { enabled: true }, responses: { enabled: true } };

/** Milliseconds to the first token of one stream at a time, for `ms` milliseconds and at least ten times. */
async function firstToken(ask: Ask, ms: number): Promise<number> {
  const taken: number[] = [];
  const end = performance.now() + ms;
  while (taken.length < BURSTS || performance.now() < end) taken.push((await ask("short")).firstMs);
  return median(taken);
}

/** Tokens a second of one stream at full rate. */
async function rate(ask: Ask): Promise<number> {
  const taken: number[] = [];
  for (let index = 0; index < BURSTS; index++) taken.push((await ask("burst")).lastMs);
  return (ANSWERS.burst.tokens * 1_000) / median(taken);
}

/** Milliseconds to the first token of streams of 50 tokens a second, without the pause the model makes before it. */
async function firstOfPaced(ask: Ask): Promise<number> {
  const taken = await Promise.all(Array.from({ length: PACED }, () => ask("paced")));
  return median(taken.map(({ firstMs }) => firstMs)) - PACE_MS;
}

/** Milliseconds to the first token of streams at full rate. */
async function firstOfMany(ask: Ask): Promise<number> {
  const taken = await Promise.all(Array.from({ length: FULL_RATE }, () => ask("burst")));
  return median(taken.map(({ firstMs }) => firstMs));
}

/** Tokens a second of streams at full rate together. */
async function rateOfMany(ask: Ask): Promise<number> {
  const begun = performance.now();
  await Promise.all(Array.from({ length: FULL_RATE }, () => ask("burst")));
  return (FULL_RATE * ANSWERS.burst.tokens * 1_000) / (performance.now() - begun);
}

export const chatApis: Subject = {
  name: "chat-apis",
  async measure({ rounds, windowMs }) {
    await using model = await startModel();
    await using gateway = await startGateway({
      ...modelConfig(model.url, PACED),
      gateway: { http: { endpoints: ENDPOINTS } },
    });
    await using relay = await startServer([serverScript("bare-http-relay"), model.url]);
    const agent = new Agent({ keepAlive: true });
    const base = `${gateway.url.replace(/^ws/, "http")}/v1`;
    const asks = {
      direct: askOverHttp(model.url, agent),
      relay: askOverHttp(`${relay.url}/v1`, agent),
      chat: askOverHttp(base, agent, CHAT_COMPLETIONS, TOKEN),
      responses: askOverHttp(base, agent, RESPONSES, TOKEN),
    };
    const measured = async (work: (ask: Ask) => Promise<number>) => {
      const contenders = {
        direct: () => work(asks.direct),
        relay: () => work(asks.relay),
        chat: () => work(asks.chat),
        responses: () => work(asks.responses),
      };
      await interleave(1, contenders);
      return interleave(rounds, contenders);
    };
    try {
      const first = await measured((ask) => firstToken(ask, windowMs));
      const burst = await measured(rate);
      const paced = await measured(firstOfPaced);
      const many = await measured(firstOfMany);
      const together = await measured(rateOfMany);
      const added = both(atMost(6, "ms"), addsAtMost(4, first.direct));
      return (["chat", "responses"] as const).flatMap((api) => {
        const path = api === "chat" ? "/v1/chat/completions" : "/v1/responses";
        const row = (
          figure: string,
          unit: string,
          taken: typeof first,
          against: "direct" | "relay",
          target?: Target,
        ) => ({
          subject: "chat-apis",
          figure: `${path}, ${figure}`,
          unit,
          ours: taken[api],
          bare: { name: against === "relay" ? "bare relay" : "model server itself", rounds: taken[against] },
          ...(target ? { target } : {}),
        });
        const half = ratioAtLeast(0.5);
        return [
          row("1 stream, first token", "ms", first, "direct", added),
          row("1 stream, first token", "ms", first, "relay"),
          row("1 stream, tokens at full rate", "/s", burst, "relay", half),
          row(`${PACED} streams of 50 tokens/s, first token`, "ms", paced, "relay", atMost(20, "ms")),
          row(`${FULL_RATE} streams at full rate, first token`, "ms", many, "relay", atMost(40, "ms")),
          row(`${FULL_RATE} streams, tokens at full rate, together`, "/s", together, "relay", half),
        ] satisfies readonly Row[];
      });
    } finally {
      agent.destroy();
    }
  },
};
