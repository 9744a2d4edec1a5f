/** The first part of the guided setup: offers to bring the state of another gateway that is found on this machine. */
import { invalidRequest } from "@svc/sdk";
import type { SetupPart } from "@svc/sdk/wizard";
import { findState } from "./openclaw/find.ts";

export interface SetupSources {
  readonly env: NodeJS.ProcessEnv;
  /** Sessions of this gateway. */
  sessions(): Promise<number>;
}

const DONE = { done: true } as const;

export function createOffer({ env, sessions }: SetupSources): Pick<SetupPart, "start" | "next"> {
  return {
    async start() {
      const directory = await findState(undefined, env).catch(() => undefined);
      if (directory === undefined || (await sessions()) > 0) return DONE;
      return {
        state: directory,
        ask: {
          kind: "select",
          message: `The state of an OpenClaw gateway is in ${directory}. Bring its conversations, jobs, devices and settings here?`,
          options: [
            {
              value: "import",
              label: "Bring it here",
              hint: "ends this setup and shows the command; nothing there is changed",
            },
            { value: "new", label: "Set up a new gateway" },
          ],
          initial: "import",
        },
      };
    },
    async next({ answer, state }) {
      if (answer !== "import") return { done: true, message: `${String(state)} stays; later: svc import openclaw` };
      return invalidRequest(
        "stop this gateway and the other one, then run: svc import openclaw --dry-run, and then: svc import openclaw",
      );
    },
  };
}
