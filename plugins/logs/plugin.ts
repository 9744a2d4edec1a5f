/** Logs: `logs.tail`, and `svc logs`. `reader.ts` reads files; `tail.ts` and `lines.ts` decide. */
import { definePlugin, invalidRequest, unavailable } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { logs } from "@svc/sdk/logs";
import { Retention } from "@svc/sdk/storage";
import { Followers } from "./followers.ts";
import { passes } from "./lines.ts";
import { type Answer, type Question, readBack, readOn, tail } from "./reader.ts";

/** Where to read: on from a place, back from one, or the end of the log. */
interface Direction {
  readonly part: string | undefined;
  readonly before: number | undefined;
}

export default definePlugin({
  id: "logs",
  api: "^1.0.0",
  requires: { host: GatewayInfo },

  setup(gateway) {
    const { log, services, hooks } = gateway;
    const followers = new Followers();

    /**
     * Handles a cursor in a file that was renamed since: returns first the rest of that file, then the start of the new
     * file.
     */
    async function tailFor(connection: string, question: Question): Promise<Answer> {
      const { cursor } = question;
      const part = cursor === undefined ? undefined : followers.partOf(connection, cursor);
      const newest = await tail(question);
      if (part === undefined || newest.part === undefined || part === newest.part) return newest;
      const rest = await tail(question, part);
      if (rest.part !== undefined && rest.size > (cursor ?? 0)) return rest;
      return { ...(await tail({ ...question, cursor: undefined })), reset: true };
    }

    async function read(connection: string, question: Question, { part, before }: Direction): Promise<Answer> {
      try {
        if (before !== undefined) return await readBack(question, before, part);
        return await (part === undefined ? tailFor(connection, question) : readOn(question, part));
      } catch (error) {
        log.warn({ err: error }, "the log file cannot be read");
        return unavailable("the log file cannot be read; see the log on standard error", { cause: error });
      }
    }

    gateway.serve(logs, {
      async tail({ params, connection }) {
        const { cursor, limit, maxBytes, level, subsystem, text, part, before } = params;
        if (cursor !== undefined && before !== undefined)
          invalidRequest("cursor reads newer lines and before reads older ones; send one of them");
        const keep = (line: string) => passes(line, { level, subsystem, text: text?.toLowerCase() });
        const question = { path: services.host.logFile(), cursor, limit, maxBytes, keep };
        const answer = await read(connection?.id ?? "", question, { part, before });
        if (before === undefined && connection && answer.part !== undefined)
          followers.answered(connection.id, { part: answer.part, cursor: answer.cursor });
        return answer;
      },
    });
    gateway.extend(Retention, "logs", {
      files: ["logs/svc-*"],
      holds: "the log of the gateway",
      rule: "7 days, within a size limit (logging)",
    });
    hooks.connectionClosed.tap(({ id }) => followers.left(id));
  },
});
