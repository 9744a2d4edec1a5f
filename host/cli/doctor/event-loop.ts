/** Finding from `event-loop-report.json` in the state directory: which code last blocked the event loop, and when. Pure. */
import { matches, type Static, Type } from "@svc/sdk";
import { time } from "@svc/sdk/cli";
import type { Finding } from "./finding.ts";

/** Maximum age of a reported block in milliseconds. Choice. */
const RECENT_MS = 24 * 3_600_000;

const Block = Type.Object({
  at: Type.Integer({ description: "epoch ms" }),
  pid: Type.Integer(),
  plugin: Type.Optional(Type.String()),
  blockedMs: Type.Number(),
  over: Type.Boolean(),
  stack: Type.Array(Type.String(), { description: "innermost call first" }),
});
const Report = Type.Object({ blocks: Type.Array(Block) });

/** @param text of the file @param now epoch ms @param isAlive whether a process of this id runs */
export function eventLoopFindings(text: string, now: number, isAlive: (pid: number) => boolean): Finding[] {
  const recent = blocksOf(text).filter(({ at }) => at > now - RECENT_MS);
  const last = recent.at(-1);
  if (!last) return [];
  const { at, pid, plugin, blockedMs, over, stack } = last;
  const isNow = !over && isAlive(pid);
  const place = stack[0] === undefined ? "" : `, in ${stack[0]}`;
  const others = recent.length > 1 ? `; ${recent.length} times in the last 24 hours` : "";
  const span = `${(blockedMs / 1_000).toFixed(1)} s`;
  const what = isNow
    ? `it has been blocking the gateway since ${time(at)}: no request is served`
    : `it blocked the gateway for ${span}${over ? "" : ", until the process ended"}, at ${time(at)}`;
  return [
    {
      severity: isNow ? "error" : "warning",
      check: "event-loop",
      about: plugin === undefined ? "code outside plugins" : `plugin ${plugin}`,
      message: `${what}${place}${others}`,
      next: isNow
        ? `kill -9 ${pid} ends that gateway`
        : plugin === undefined
          ? "svc logs --level error"
          : `svc plugins inspect ${plugin}; report it to the author of the plugin`,
    },
  ];
}

function blocksOf(text: string): readonly Static<typeof Block>[] {
  try {
    const report: unknown = JSON.parse(text);
    return matches(Report, report) ? report.blocks : []; // another version may use another format
  } catch {
    return []; // the check "half-written" reports it
  }
}
