/** `POST /tools/invoke` with a tool that does nothing. */
import { ratioAtLeast } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { runHttpLoad } from "../load/http.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const CONNECTIONS = 16;

export const tools: Subject = {
  name: "tools",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using gateway = await startGateway();
    await using koa = await startServer([serverScript("koa")]);
    const contenders = (ms: number) => {
      const load = { connections: CONNECTIONS, ms };
      const body = JSON.stringify({ tool: "bench_echo", args: { text: "x".repeat(100) } });
      const url = gateway.url.replace(/^ws/, "http");
      return {
        ours: () => runHttpLoad({ ...load, url, body, path: "/tools/invoke", token: TOKEN }),
        koa: () =>
          runHttpLoad({
            ...load,
            url: koa.url,
            body: JSON.stringify({ text: "x".repeat(100) }),
            path: "/plugins/bench/wake",
          }),
      };
    };
    await interleave(1, contenders(warmUpMs));
    const { ours, koa: bare } = await interleave(rounds, contenders(windowMs));
    return [
      {
        subject: "tools",
        figure: "POST /tools/invoke, cheap tool",
        unit: "/s",
        ours: ours.map(({ perSecond }) => perSecond),
        bare: { name: "koa and router", rounds: bare.map(({ perSecond }) => perSecond) },
        target: ratioAtLeast(0.6),
      },
    ];
  },
};
