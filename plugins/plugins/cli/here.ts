/** The gateway of this state directory, when one runs: it follows what commands change on disk. */
import { lastStarted, Unreachable } from "@svc/cli";
import { resolvePaths } from "@svc/host/state";
import type { CommandContext } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { detailsCode, GatewayError, isGatewayError, messageOf } from "@svc/sdk/errors";
import { plugins } from "@svc/sdk/plugins";
import type { RunningGateway } from "../install/switch.ts";

/** Milliseconds a gateway has to accept a connection. */
const PATIENCE = 2_000;

/** Milliseconds. Following waits for calls in flight and for stops and starts of plugins. */
const FOLLOW_TIMEOUT = 120_000;

/** Whether a gateway was reached. */
export interface GatewayHere extends RunningGateway {
  readonly wasTold: boolean;
}

/** Connects with each question, since an install takes longer than a gateway may run. */
export function gatewayHere(context: CommandContext): GatewayHere {
  let wasTold = false;
  let noted = false;

  async function ask<T>(question: (client: GatewayClient) => Promise<T>): Promise<T | undefined> {
    if (lastStarted(resolvePaths().startupReport).url === undefined) return undefined; // none was ever started here
    let client: GatewayClient;
    try {
      client = await context.connect({ timeoutMs: PATIENCE });
    } catch (error) {
      // Whoever refuses the key of this state directory is another gateway.
      if (!(error instanceof Unreachable) && !noted) note(error);
      return undefined;
    }
    try {
      return await question(client);
    } catch (error) {
      if (!isGatewayError(error) || detailsCode(error) !== "UNKNOWN_METHOD") throw error;
      const next = "restart it, or add the plugin that serves it to plugins.use";
      throw new GatewayError(error.code, `${error.message}; ${next}`, { details: error.details });
    } finally {
      await client.close();
    }
  }

  function note(error: unknown): void {
    noted = true;
    const [why = ""] = messageOf(error).split("\n");
    context.note(`No gateway of this state directory was told: ${why}`);
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
