/** Log lines for the command: from the gateway, or from the file on this machine while the gateway does not respond. */
import { isGatewayError, localDay, type ParamsOf } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { logFileName, logs, logSeries, USUAL_LOG } from "@svc/sdk/logs";
import { basename, dirname, join } from "node:path";
import { type Filter, passes } from "./lines.ts";
import { type Answer, readOn, tail } from "./reader.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** Choice: milliseconds that a gateway has to respond before the file is read instead. */
const CONNECT_MS = 3_000;

export interface FeedOptions {
  readonly filter: Filter;
  /** Maximum number of lines of the first result. */
  readonly limit: number;
  /** A file to read, whether or not a gateway is running. */
  readonly file: string | undefined;
  /** The gateway may be on another machine, so no local file is its log. */
  readonly isElsewhere: boolean;
  readonly now: () => number;
}

export class Feed {
  readonly #context: CommandContext;
  readonly #options: FeedOptions;
  #client: Client | undefined;
  /** Where the last result ended. */
  #place: { readonly part: string; readonly cursor: number } | undefined;
  #path: string;
  #isAway = false;

  constructor(context: CommandContext, options: FeedOptions) {
    this.#context = context;
    this.#options = options;
    this.#path = options.file ?? join(context.stateDir, "logs", logFileName(USUAL_LOG, ""));
  }

  /**
   * Returns the last lines at first, then the lines since. `undefined`: the gateway did not respond.
   * @throws GatewayError at the first call when neither a gateway nor a file can be read; later, errors of the gateway
   */
  async next(): Promise<Answer | undefined> {
    const answer = (await this.#ask()) ?? (this.#options.isElsewhere ? undefined : await this.#readFile());
    if (!answer) return undefined;
    // New lines are written to the file whose name has no number.
    if (basename(answer.file) !== answer.part) this.#path = answer.file;
    if (answer.part !== undefined) this.#place = { part: answer.part, cursor: answer.cursor };
    return answer;
  }

  async close(): Promise<void> {
    await this.#client?.close();
    this.#client = undefined;
  }

  async #ask(): Promise<Answer | undefined> {
    if (this.#options.file !== undefined) return undefined;
    try {
      this.#client ??= await this.#context.connect({ scopes: ["operator.read"], timeoutMs: CONNECT_MS });
      const answer = await this.#client.call(logs.tail, this.#params());
      if (this.#isAway) this.#context.note("The gateway responds again.");
      this.#isAway = false;
      return answer;
    } catch (error) {
      await this.close();
      if (!isGatewayError(error) || error.code !== "UNAVAILABLE") throw error;
      if (this.#options.isElsewhere && !this.#place) throw error;
      this.#noteAway();
      return undefined;
    }
  }

  #params(): ParamsOf<typeof logs.tail> {
    const { level, subsystem } = this.#options.filter;
    return {
      ...(this.#place ?? { limit: this.#options.limit }),
      ...(level === undefined ? {} : { level }),
      ...(subsystem === undefined ? {} : { subsystem }),
    };
  }

  #readFile(): Promise<Answer> {
    const keep = (line: string) => passes(line, this.#options.filter);
    const path = this.#today();
    if (!this.#place) return tail({ path, limit: this.#options.limit, keep });
    return readOn({ path, cursor: this.#place.cursor, keep }, this.#place.part);
  }

  /** Today's file of a daily series; otherwise the path itself. */
  #today(): string {
    const series = logSeries(basename(this.#path));
    if (!series.isDaily && basename(this.#path) !== logFileName(USUAL_LOG, "")) return this.#path;
    const daily = series.isDaily ? series : USUAL_LOG;
    return join(dirname(this.#path), logFileName(daily, localDay(this.#options.now())));
  }

  #noteAway(): void {
    if (this.#isAway) return;
    this.#isAway = true;
    const { isElsewhere } = this.#options;
    this.#context.note(
      isElsewhere
        ? "The gateway does not respond; retrying."
        : `No gateway responds. Reading ${this.#today()} instead; use --file for another file.`,
    );
  }
}
