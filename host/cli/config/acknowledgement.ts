/** How the gateway of this state directory handles a change of the configuration file. Polls until the gateway has read the file. */
import { setTimeout as pause } from "node:timers/promises";
import { config } from "@svc/sdk/config";
import { messageOf } from "@svc/sdk/errors";
import { isCopy } from "@svc/host/local";
import { atGateway } from "../connect.ts";
import { stateHolder } from "../state-lock.ts";

/** Milliseconds to wait for the gateway to read a changed file: it waits until the file stops changing. Choice. */
const PATIENCE_MS = 10_000;
/** Milliseconds a restart may take after its delay: it waits up to 30 s for runs. Choice. */
const RESTART_MS = 60_000;
const POLL_MS = 100;

const NEXT_START = "No gateway runs here; the next start uses it.";
const NEXT_START_OF_COPY =
  "No gateway runs here. The file is a copy of the configuration in the database: the next start takes the change there, unless another gateway changes the configuration first.";

export interface Acknowledgement {
  /** `restart`: in use except for keys that need a restart, and no restart is scheduled. `unknown`: the gateway did not report. */
  readonly state: "none" | "taken" | "restarted" | "restart" | "refused" | "unknown";
  /** Message for the user, with the next step if there is one. */
  readonly text: string;
}

/** The configuration file just written. */
export interface WrittenFile {
  readonly path: string;
  readonly hash: string;
  readonly stateDir: string;
}

/** Never throws: the change is already written. @param note called if the gateway restarts to apply the change */
export async function acknowledged(file: WrittenFile, note: (line: string) => void): Promise<Acknowledgement> {
  let until = Date.now() + PATIENCE_MS;
  let isRestarting = false;
  let why = "it has not read the file yet";
  for (; Date.now() < until; await pause(POLL_MS)) {
    const holder = await stateHolder(file.stateDir);
    if (!holder) return { state: "none", text: (await isCopy(file.stateDir)) ? NEXT_START_OF_COPY : NEXT_START };
    const { url } = holder;
    if (url === undefined) continue; // the gateway is starting or suspended
    const answer = await ask(url);
    if ("error" in answer) {
      why = answer.error;
      if (answer.isFinal && !isRestarting) break;
      continue;
    }
    const { path, running } = answer;
    if (path !== file.path)
      return { state: "none", text: `The gateway of this state directory uses another file: ${path}.` };
    if (running?.refused?.hash === file.hash)
      return {
        state: "refused",
        // The file was valid when written: only the gateway knows the error.
        text: `The gateway does not use it: ${running.refused.reason}\nNext: set another value; svc logs shows details`,
      };
    if (running?.hash !== file.hash) continue;
    const { restart } = running;
    if (!restart)
      return isRestarting
        ? { state: "restarted", text: "The gateway has restarted and uses it." }
        : { state: "taken", text: "The gateway uses it." };
    if (restart.delayMs === undefined)
      return {
        state: "restart",
        text: `The gateway uses it, except ${restart.paths.join(", ")}, which takes effect after a restart.\nNext: svc gateway restart, or send SIGUSR1 to its process`,
      };
    if (!isRestarting) {
      note(`The gateway restarts within ${Math.ceil(restart.delayMs / 1_000)} s to use it, after the current runs.`);
      until = Date.now() + restart.delayMs + RESTART_MS;
    }
    isRestarting = true;
  }
  return {
    state: "unknown",
    text: `The gateway has not confirmed that it uses it: ${why}\nNext: svc gateway status, or svc logs`,
  };
}

type Answer =
  | { readonly error: string; readonly isFinal: boolean }
  | Pick<Awaited<ReturnType<typeof configOf>>, "path" | "running">;

function configOf(url: string) {
  return atGateway({ url }, (client) => client.call(config.get, {}), { scopes: ["operator.read"] });
}

async function ask(url: string): Promise<Answer> {
  try {
    return await configOf(url);
  } catch (error) {
    const [line = ""] = messageOf(error).split("\n");
    return { error: line, isFinal: (error as { code?: unknown }).code !== "UNAVAILABLE" };
  }
}
