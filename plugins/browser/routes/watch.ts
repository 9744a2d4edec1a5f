/** Routes of what pages reported: console, errors, requests, and traces. */
import { invalidRequest, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import { browserOf, pick, route, tabOf, TARGET } from "./route.ts";

/** Choice: a trace that nobody stops ends after this time, and is discarded. */
const TRACE_MS = 5 * 60_000;

const buffer = {
  ...TARGET,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "newest entries; default 100" })),
  clear: Type.Optional(Type.Boolean({ description: "forget the entries afterwards" })),
};
const filter = Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: "part of the URL" }));
const LEVELS = { error: ["error", "assert"], warning: ["error", "assert", "warning"] };

export const watchRoutes = [
  route(
    "GET",
    "/console",
    { ...buffer, level: Type.Optional(Type.Enum(["error", "warning", "info"])) },
    async (input, context) => {
      const tab = await tabOf(input, context);
      const { limit = 100, level = "info" } = input;
      const found = tab.console.items.filter(({ type }) => level === "info" || LEVELS[level].includes(type));
      if (input.clear) tab.console.clear();
      return { ok: true, targetId: tab.id, messages: found.slice(-limit), total: tab.console.total };
    },
  ),
  route("GET", "/errors", buffer, async (input, context) => {
    const running = await browserOf(input, context);
    const tab = await pick(running, input.targetId, context); // also a crashed one: it still tells what happened
    const errors = tab.errors.items.slice(-(input.limit ?? 100));
    const dialogs = tab.dialogs.items.slice(-(input.limit ?? 100));
    if (input.clear) tab.errors.clear();
    return { ok: true, targetId: tab.id, errors, dialogs, refused: running.guard.refused.items };
  }),
  route("GET", "/requests", { ...buffer, filter }, async (input, context) => {
    const tab = await tabOf(input, context);
    const { limit = 100, filter: part } = input;
    const found = tab.requests.items.filter(({ url }) => part === undefined || url.includes(part));
    const requests = found.slice(-limit).map((entry) => ({ ...entry, url: cut(entry.url, 500) }));
    if (input.clear) tab.requests.clear();
    return { ok: true, targetId: tab.id, requests, total: tab.requests.total };
  }),
  route("POST", "/trace/start", {}, async (input, context) => {
    const running = await browserOf(input, context);
    if (running.endTrace) invalidRequest("a trace is recorded already; end it with POST /trace/stop");
    await running.context.tracing.start({ screenshots: true, snapshots: true });
    running.endTrace = context.clock.setTimeout(() => {
      delete running.endTrace;
      void running.context.tracing.stop().catch(() => undefined);
    }, TRACE_MS);
    return { ok: true, maxMs: TRACE_MS };
  }),
  route("POST", "/trace/stop", {}, async (input, context) => {
    const running = await browserOf(input, context);
    if (!running.endTrace) invalidRequest("no trace is recorded; start one with POST /trace/start");
    running.endTrace?.();
    delete running.endTrace;
    const path = await context.files.reserve("trace.zip");
    await running.context.tracing.stop({ path });
    return { ok: true, path, mimeType: "application/zip" };
  }),
];
