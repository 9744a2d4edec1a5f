/** Webhooks: from a request of 1 kB to an event on disk, through every kind of mapping; and refusals, which write nothing to disk. */
import { ratioAtLeast, type Row, type Target } from "../figures.ts";
import { startGateway } from "../gateways.ts";
import { type HttpResult, runHttpLoad } from "../load/http.ts";
import { serverScript, startServer } from "../server-process.ts";
import { interleave, STORED_MS, type Subject } from "../suite.ts";

const CONNECTIONS = 16;
/** Bytes of text in the body. */
const TEXT = 1_000;
const HOOK_TOKEN = "hook-token-0123456789abcdef";

/** Prefixes the text with one word, so that the stored text differs from the body. */
const REWRITE = `export default ({ payload }) => ({ kind: "note", text: \`seen \${payload.text}\` });\n`;
const SKIP = "export default () => null;\n";

const mapping = (path: string, more: object) => ({ id: path, match: { path }, action: "note", ...more });

const HOOKS = {
  enabled: true,
  token: HOOK_TOKEN,
  mappings: [
    mapping("templated", { textTemplate: "seen {{payload.text}}" }),
    mapping("transformed", { transform: { module: "rewrite.ts" } }),
    mapping("apart", { transform: { module: "rewrite.ts", placement: "worker" } }),
    mapping("skipped", { transform: { module: "skip.ts" } }),
    mapping("refused", { action: "refuse", textTemplate: "seen {{payload.text}}" }),
  ],
};

export const webhooks: Subject = {
  name: "webhooks",
  async measure({ rounds, windowMs, warmUpMs }) {
    const files = { "hooks/transforms/rewrite.ts": REWRITE, "hooks/transforms/skip.ts": SKIP };
    await using gateway = await startGateway({ hooks: HOOKS }, { files });
    await using plain = await startServer([serverScript("bare-http")]);
    await using koa = await startServer([serverScript("koa")]);
    const body = JSON.stringify({ text: "x".repeat(TEXT) });
    const contenders = (ms: number) => {
      const load = { body, connections: CONNECTIONS, ms };
      const ours =
        (path: string, status = 200) =>
        () =>
          runHttpLoad({
            ...load,
            status,
            token: HOOK_TOKEN,
            url: gateway.url.replace(/^ws/, "http"),
            path: `/hooks/${path}`,
          });
      const bare = (url: string) => () => runHttpLoad({ ...load, url, path: "/plugins/bench/wake" });
      return {
        note: ours("note"),
        koa: bare(koa.url),
        templated: ours("templated"),
        plain: bare(plain.url),
        transformed: ours("transformed"),
        apart: ours("apart"),
        skipped: ours("skipped", 204),
        refused: ours("refused", 400),
      };
    };
    await interleave(1, contenders(warmUpMs), STORED_MS);
    const taken = await interleave(rounds, contenders(windowMs), STORED_MS);
    type Way = keyof typeof taken;
    const row = (figure: string, way: Way, against: Way, name: string, target?: Target): Row => ({
      subject: "webhooks",
      figure,
      unit: "/s",
      ours: rates(taken[way]),
      bare: { name, rounds: rates(taken[against]) },
      ...(target ? { target } : {}),
    });
    const late = (figure: string, way: Way): Row => ({
      subject: "webhooks",
      figure,
      unit: "ms p99",
      ours: taken[way].map(({ p99 }) => p99),
      bare: { name: "koa and router", rounds: taken.koa.map(({ p99 }) => p99) },
    });
    return [
      row("note (an event, on disk before 200)", "note", "koa", "koa and router", ratioAtLeast(0.5)),
      row("note (an event, on disk before 200)", "note", "plain", "bare node:http"),
      late("note", "note"),
      row("mapping with a template, to note", "templated", "note", "note", ratioAtLeast(0.8)),
      late("mapping with a template", "templated"),
      row("mapping with a transform, to note", "transformed", "note", "note", ratioAtLeast(0.8)),
      late("mapping with a transform", "transformed"),
      row("the same in a worker", "apart", "note", "note"),
      row("skipped by a transform (204), nothing stored", "skipped", "koa", "koa and router", ratioAtLeast(0.8)),
      row("refused by its action (400), nothing stored", "refused", "koa", "koa and router", ratioAtLeast(0.8)),
    ];
  },
};

function rates(results: readonly HttpResult[]): readonly number[] {
  return results.map(({ perSecond }) => perSecond);
}
