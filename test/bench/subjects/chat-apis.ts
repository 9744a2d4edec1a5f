/** A model's answer through the public APIs, compared with the model server itself: the overhead of the gateway. */
import { Agent } from "node:http";
import { addsAtMost, atMost, both, median, type Row, type Rounds, type Target } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { ANSWERS, modelConfig, PACE_MS, startModel } from "../load/model.ts";
import { type Ask, askOverHttp, CHAT_COMPLETIONS, RESPONSES } from "../load/streams.ts";
import { interleave, type Subject } from "../suite.ts";

const STREAMS = 32;
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

/** Milliseconds to the first token with many streams of 50 tokens a second, without the pause the model makes before it. */
async function firstOfMany(ask: Ask): Promise<number> {
  const taken = await Promise.all(Array.from({ length: STREAMS }, () => ask("paced")));
  return median(taken.map(({ firstMs }) => firstMs)) - PACE_MS;
}

/** Tokens a second of many streams at full rate together. */
async function rateOfMany(ask: Ask): Promise<number> {
  const begun = performance.now();
  await Promise.all(Array.from({ length: STREAMS }, () => ask("burst")));
  return (STREAMS * ANSWERS.burst.tokens * 1_000) / (performance.now() - begun);
}

export const chatApis: Subject = {
  name: "chat-apis",
  async measure({ rounds, windowMs }) {
    await using model = await startModel();
    await using gateway = await startGateway({
      ...modelConfig(model.url, STREAMS),
      gateway: { http: { endpoints: ENDPOINTS } },
    });
    const agent = new Agent({ keepAlive: true });
    const base = `${gateway.url.replace(/^ws/, "http")}/v1`;
    const asks = {
      direct: askOverHttp(model.url, agent),
      chat: askOverHttp(base, agent, CHAT_COMPLETIONS, TOKEN),
      responses: askOverHttp(base, agent, RESPONSES, TOKEN),
    };
    const taken = (work: (ask: Ask) => Promise<number>) => {
      const { direct, chat, responses } = asks;
      return { direct: () => work(direct), chat: () => work(chat), responses: () => work(responses) };
    };
    try {
      const one = (ask: Ask) => firstToken(ask, windowMs);
      await interleave(1, taken(one));
      const first = await interleave(rounds, taken(one));
      const burst = await interleave(rounds, taken(rate));
      await interleave(1, taken(firstOfMany));
      const many = await interleave(rounds, taken(firstOfMany));
      const together = await interleave(rounds, taken(rateOfMany));
      const added = (direct: Rounds) => both(atMost(6, "ms"), addsAtMost(4, direct));
      return (["chat", "responses"] as const).flatMap((api) => {
        const path = api === "chat" ? "/v1/chat/completions" : "/v1/responses";
        const row = (figure: string, unit: string, ours: Rounds, direct: Rounds, target?: Target): Row => ({
          subject: "chat-apis",
          figure: `${path}, ${figure}`,
          unit,
          ours,
          bare: { name: "model server itself", rounds: direct },
          ...(target ? { target } : {}),
        });
        return [
          row("1 stream, first token", "ms", first[api], first.direct, added(first.direct)),
          row("1 stream, tokens at full rate", "/s", burst[api], burst.direct),
          // The design has 20 ms for 16 streams.
          row(`${STREAMS} streams of 50 tokens/s, first token`, "ms", many[api], many.direct, atMost(40, "ms")),
          row(`${STREAMS} streams, tokens at full rate, together`, "/s", together[api], together.direct),
        ];
      });
    } finally {
      agent.destroy();
    }
  },
};
