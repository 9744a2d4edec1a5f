/** The running gateway of this state directory, if any. The gateway applies the changes that commands make on disk. */
import { lastStarted, Unreachable } from "@svc/cli";
import { resolvePaths } from "@svc/host/state";
import type { CommandContext } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { detailsCode, GatewayError, isGatewayError, messageOf } from "@svc/sdk/errors";
import { plugins } from "@svc/sdk/plugins";
import type { RunningGateway } from "../install/switch.ts";

/** Milliseconds to wait for a connection. */
const PATIENCE = 2_000;

/** Milliseconds to wait for the gateway to apply changes: calls in progress end first, and plugins stop and start. */
const FOLLOW_TIMEOUT = 120_000;

/** A gateway that may be running; `wasTold`: the command reached the gateway, which applied the changes. */
export interface GatewayHere extends RunningGateway {
  readonly wasTold: boolean;
}

/** Connects anew for each request, because an install may outlive the gateway. */
export function gatewayHere(context: CommandContext): GatewayHere {
  let wasTold = false;
  let noted = false;

  async function ask<T>(question: (client: GatewayClient) => Promise<T>): Promise<T | undefined> {
    if (lastStarted(resolvePaths().startupReport).url === undefined) return undefined; // never started
    let client: GatewayClient;
    try {
      client = await context.connect({ timeoutMs: PATIENCE });
    } catch (error) {
      // A gateway that rejects the key of this state directory belongs to another state directory.
      if (!(error instanceof Unreachable) && !noted) note(error);
      return undefined;
    }
    try {
      return await question(client);
    } catch (error) {
      if (!isGatewayError(error) || detailsCode(error) !== "UNKNOWN_METHOD") throw error;
      const next = "restart the gateway, or add the plugin that serves the method to plugins.use";
      throw new GatewayError(error.code, `${error.message}; ${next}`, { details: error.details });
    } finally {
      await client.close();
    }
  }

  function note(error: unknown): void {
    noted = true;
    const [why = ""] = messageOf(error).split("\n");
    context.note(`No gateway of this state directory applied the change: ${why}`);
  }

  return {
    get wasTold() {
      return wasTold;
    },
    stateOf: (id) =>
      ask(async (client) => (await client.call(plugins.list, {})).plugins.find((row) => row.id === id)?.state),
    async align() {
      const changed = await ask(
        async (client) => (await client.call(plugins.align, {}, { timeoutMs: FOLLOW_TIMEOUT })).changed,
      );
      wasTold = changed !== undefined;
      return changed ?? [];
    },
  };
}
