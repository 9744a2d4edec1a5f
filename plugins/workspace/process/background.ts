/** Background commands; each belongs to the session that started it. */
import { randomUUID } from "node:crypto";
import { BoundedText, type ProgramOutcome, type RunningProgram } from "@svc/kit/exec";
import { type Clock, notFound, type Origin, unavailable } from "@svc/sdk";
import type { Launch } from "../sandbox/agent-sandbox.ts";
import { hiding } from "./hiding.ts";
import { Output } from "./output.ts";
import type { Programs } from "./programs.ts";

/** Owner of a command; other sessions cannot see it. */
export interface Owner {
  readonly agentId: string;
  readonly sessionKey: string;
}

/** A background command to start. */
export interface BackgroundStart extends Launch {
  readonly text: string;
  readonly origin: Origin | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Values that its output does not show. Default none. */
  readonly hidden?: readonly string[];
  /** Timeout in milliseconds; absent: none. */
  readonly timeoutMs?: number;
}

/** A command in the background. */
export interface Background {
  readonly id: string;
  readonly owner: Owner;
  readonly text: string;
  /** Origin of content in its output; `undefined`: the owner. */
  origin: Origin | undefined;
  /** epoch ms */
  readonly startedAt: number;
  readonly program: RunningProgram;
  /** Its whole output, bounded. */
  readonly log: BoundedText;
  /** Output since the last poll. */
  fresh: BoundedText;
  /** Set when it has ended. */
  outcome?: ProgramOutcome;
  /** epoch ms */
  endedAt?: number;
  /** Called at its end, and on new output. */
  readonly listeners: Set<() => void>;
}

/** Choice: maximum running and ended commands of a session; the oldest ended ones are dropped. */
export const MAX_RUNNING_EACH = 16;
const MAX_ENDED_EACH = 32;
/** Choice: maximum ended commands of all sessions. */
const MAX_ENDED = 100;
/** Choice: maximum UTF-16 units of a stored output, and of a poll. */
const MAX_LOG_CHARS = 200_000;
export const MAX_FRESH_CHARS = 30_000;

export class BackgroundCommands {
  readonly #programs: Programs;
  readonly #clock: Pick<Clock, "now">;
  readonly #all = new Map<string, Background>();
  #onFirst: (() => void) | undefined;

  /** @param onFirst called once, when the first command starts */
  constructor(programs: Programs, clock: Pick<Clock, "now">, onFirst: () => void) {
    this.#programs = programs;
    this.#clock = clock;
    this.#onFirst = onFirst;
  }

  /** @throws GatewayError `UNAVAILABLE`: too many are running */
  start(owner: Owner, { text, origin, hidden = [], ...what }: BackgroundStart): Background {
    const running = this.list(owner).filter(({ outcome }) => outcome === undefined);
    if (running.length >= MAX_RUNNING_EACH) {
      unavailable(`${MAX_RUNNING_EACH} commands are already running in the background; end some with process kill`);
    }
    const log = new BoundedText(MAX_LOG_CHARS);
    const listeners = new Set<() => void>();
    const tell = () => listeners.forEach((listener) => listener());
    const output = new Output(
      hiding(hidden),
      (given) => log.add(given),
      (given) => command.fresh.add(given),
      tell,
    );
    const onOutput = (chunk: Buffer, stream: "stdout" | "stderr") => output.append(chunk, stream);
    const program = this.#programs.start({ ...what, stdin: "pipe", onOutput });
    const id = randomUUID().slice(0, 8);
    const fresh = new BoundedText(MAX_FRESH_CHARS);
    const command: Background = {
      id,
      owner,
      text,
      origin,
      startedAt: this.#clock.now(),
      program,
      log,
      fresh,
      listeners,
    };
    this.#all.set(id, command);
    this.#onFirst?.();
    this.#onFirst = undefined;
    void program.ended.then((outcome) => {
      output.end();
      command.outcome = outcome;
      command.endedAt = this.#clock.now();
      this.#forgetOldest(owner);
      tell();
    });
    return command;
  }

  /** Oldest first. */
  list({ agentId, sessionKey }: Owner): readonly Background[] {
    return [...this.#all.values()].filter(({ owner }) => owner.agentId === agentId && owner.sessionKey === sessionKey);
  }

  /** @throws GatewayError `NOT_FOUND`, also for commands of other sessions */
  find(owner: Owner, id: string): Background {
    const found = this.list(owner).find((command) => command.id === id);
    return found ?? notFound(`no background command "${id}" in this session; see process list`);
  }

  forget({ id }: Background): void {
    this.#all.delete(id);
  }

  /** Drops commands that ended more than `keepMs` milliseconds ago. */
  sweep(keepMs: number): void {
    const oldest = this.#clock.now() - keepMs;
    for (const command of this.#all.values()) {
      if (command.endedAt !== undefined && command.endedAt <= oldest) this.forget(command);
    }
  }

  #forgetOldest(owner: Owner): void {
    const limits = [
      { all: this.list(owner), most: MAX_ENDED_EACH },
      { all: [...this.#all.values()], most: MAX_ENDED },
    ];
    for (const { all, most } of limits) {
      const ended = all.filter(({ outcome }) => outcome !== undefined);
      for (const command of ended.slice(0, Math.max(0, ended.length - most))) this.forget(command);
    }
  }
}
