/** A plugin's HTTP route: credential, body, schema, answer. The base of every API over HTTP. */
import { type Row } from "../figures.ts";
import { startGateway, TOKEN } from "../gateways.ts";
import { type HttpResult, runHttpLoad } from "../load/http.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, type Subject } from "../suite.ts";

const CONNECTIONS = 16;
/** Bytes of text in the body. */
const TEXT = 1_000;

export const http: Subject = {
  name: "http",
  async measure({ rounds, windowMs, warmUpMs }) {
    await using gateway = await startGateway();
    await using plain = await startServer([serverScript("bare-http")]);
    await using koa = await startServer([serverScript("koa")]);
    const body = JSON.stringify({ text: "x".repeat(TEXT) });
    const load = (url: string, ms: number, token?: string) => () =>
      runHttpLoad({
        url,
        path: "/plugins/bench/wake",
        body,
        connections: CONNECTIONS,
        ms,
        ...(token === undefined ? {} : { token }),
      });
    const contenders = (ms: number) => ({
      ours: load(gateway.url.replace(/^ws/, "http"), ms, TOKEN),
      koa: load(koa.url, ms),
      plain: load(plain.url, ms),
    });
    await interleave(1, contenders(warmUpMs));
    const taken = await interleave(rounds, contenders(windowMs));
    // No target: the design has none for plain routes.
    const row = (name: string, bare: readonly HttpResult[]): Row => ({
      subject: "http",
      figure: "POST 1 kB to a plugin's route",
      unit: "/s",
      ours: taken.ours.map(({ perSecond }) => perSecond),
      bare: { name, rounds: bare.map(({ perSecond }) => perSecond) },
    });
    return [row("koa and router", taken.koa), row("bare node:http", taken.plain)];
  },
};
