/** 1,000 sessions that each have a turn at the same time. */
import { Agent } from "node:http";
import { connect } from "@svc/sdk/client";
import { atMost, median } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { modelConfig, startModel } from "../load/model.ts";
import { type Ask, askOverHttp, CHAT_COMPLETIONS } from "../load/streams.ts";
import { bench } from "../servers/contract.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const SESSIONS = 1_000;

interface Turns {
  readonly perSecond: number;
  readonly firstMs: number;
}

async function together(ask: Ask): Promise<Turns> {
  const begun = performance.now();
  const taken = await Promise.all(Array.from({ length: SESSIONS }, () => ask("short")));
  const perSecond = (SESSIONS * 1_000) / (performance.now() - begun);
  return { perSecond, firstMs: median(taken.map(({ firstMs }) => firstMs)) };
}

export const crowd: Subject = {
  name: "crowd",
  async measure({ rounds }) {
    await using model = await startModel();
    await using gateway = await startGateway({
      ...modelConfig(model.url, SESSIONS),
      gateway: { http: { endpoints: { chatCompletions: { enabled: true } } } },
    });
    await using relay = await startServer([serverScript("bare-http-relay"), model.url]);
    const agent = new Agent(); // a kept connection would end while the other contender runs
    const client = await connect({ url: gateway.url, token: TOKEN });
    try {
      const base = `${gateway.url.replace(/^ws/, "http")}/v1`;
      const asks = {
        ours: askOverHttp(base, agent, CHAT_COMPLETIONS, TOKEN),
        relay: askOverHttp(`${relay.url}/v1`, agent),
      };
      const contenders = { ours: () => together(asks.ours), relay: () => together(asks.relay) };
      await interleave(1, contenders);
      await client.call(bench.watchLoop, {});
      const { ours, relay: bare } = await interleave(Math.min(rounds, 3), contenders);
      const { p99 } = await client.call(bench.loopDelay, {});
      const row = { subject: "crowd", unit: "ms" };
      const name = "bare relay";
      const figure = `a turn in ${SESSIONS.toLocaleString("en-US")} sessions at once`;
      return [
        {
          ...row,
          figure,
          unit: "/s",
          ours: ours.map(({ perSecond }) => perSecond),
          bare: { name, rounds: bare.map(({ perSecond }) => perSecond) },
        },
        {
          ...row,
          figure: `${figure}, first token`,
          ours: ours.map(({ firstMs }) => firstMs),
          bare: { name, rounds: bare.map(({ firstMs }) => firstMs) },
        },
        { ...row, figure: `${figure}, delay of the event loop, p99`, ours: [p99], target: atMost(20, "ms") },
      ];
    } finally {
      agent.destroy();
      await client.close();
    }
  },
};
