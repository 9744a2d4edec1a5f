/** `POST /hooks/wake` with the same text each time: what it costs must not depend on how often the text came or what waits. */
import { ratioAtLeast, type Row, type Target } from "../figures.ts";
import { startFilled } from "../gateways.ts";
import { type HttpResult, runHttpLoad } from "../load/http.ts";
import { bench } from "../servers/contract.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, STORED_MS, type Subject } from "../suite.ts";

const CONNECTIONS = 16;
const HOOK_TOKEN = "hook-token-0123456789abcdef";
const CONFIG = { hooks: { enabled: true, token: HOOK_TOKEN } };
const SEED_MS = 120_000;
const TEXT = "x".repeat(1_000);
/** Nobody is woken, so that the events stay. */
const BODY = JSON.stringify({ text: TEXT, mode: "next-heartbeat" });

interface Stored {
  /** Events with the text of the load. */
  readonly repeats: number;
  /** Events with other texts; the newest has the text of the load. */
  readonly waiting: number;
}

const gatewayWith = (stored: Stored) =>
  startFilled(CONFIG, (client) => client.call(bench.seedEvents, { ...stored, text: TEXT }, { timeoutMs: SEED_MS }));

export const wakes: Subject = {
  name: "wakes",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using none = await gatewayWith({ repeats: 0, waiting: 0 });
    await using some = await gatewayWith({ repeats: 1_000, waiting: 0 });
    await using many = await gatewayWith({ repeats: 50_000, waiting: 0 });
    await using full = await gatewayWith({ repeats: 0, waiting: 1_000 });
    await using koa = await startServer([serverScript("koa")]);
    await using durable = await startServer([serverScript("durable-koa")]);
    const contenders = (ms: number) => {
      const load = { body: BODY, connections: CONNECTIONS, ms };
      const wake = (url: string) => () =>
        runHttpLoad({ ...load, url: url.replace(/^ws/, "http"), path: "/hooks/wake", token: HOOK_TOKEN });
      return {
        none: wake(none.url),
        some: wake(some.url),
        many: wake(many.url),
        full: wake(full.url),
        koa: () => runHttpLoad({ ...load, url: koa.url, path: "/plugins/bench/wake" }),
        durable: () => runHttpLoad({ ...load, url: durable.url, path: "/plugins/bench/wake" }),
      };
    };
    await interleave(1, contenders(warmUpMs), STORED_MS);
    const taken = await interleave(rounds, contenders(windowMs), STORED_MS);
    type Way = keyof typeof taken;
    const rates = (way: Way) => taken[way].map(({ perSecond }: HttpResult) => perSecond);
    const row = (figure: string, way: Way, against: Way, name: string, target?: Target): Row => ({
      subject: "wakes",
      figure: `the same text again and again, ${figure}`,
      unit: "/s",
      ours: rates(way),
      bare: { name, rounds: rates(against) },
      ...(target ? { target } : {}),
    });
    const flat = ratioAtLeast(0.9);
    return [
      row("on disk before 200", "none", "koa", "koa and router", ratioAtLeast(0.5)),
      row("on disk before 200", "none", "durable", "koa with a log and two rows"),
      row("after 1,000 of them", "some", "none", "ours, without them", flat),
      row("after 50,000 of them", "many", "none", "ours, without them", flat),
      row("1,000 other events waiting", "full", "none", "ours, without them", flat),
    ];
  },
};
