/** Socket Mode: a connection to Slack over which events arrive. */
import { channel } from "node:diagnostics_channel";
import { lazy, pause, unavailable, untilAborted } from "@svc/sdk";
import { withDeadline } from "@svc/kit/time";
import type { ChannelRun } from "@svc/sdk/channels";
import { clientOptions } from "./api.ts";
import type { Settings } from "./config.ts";
import { failureOf } from "./failure.ts";
import type { Accept, SlackContext } from "./inbox.ts";
import { QUIET } from "./quiet.ts";
import type { DeliveryKind } from "./translate.ts";

/** Milliseconds until Slack must have confirmed the connection. */
const CONNECT_MS = 20_000;
/** Milliseconds before a new connection. */
const RECONNECT_MS = 250;
/** Milliseconds to wait for Slack to close the connection. */
const CLOSE_MS = 300;

/** Published by the WebSocket library for each answer to a ping. */
const PONG = "undici:websocket:pong";

const library = lazy(() => import("@slack/socket-mode"));

interface Envelope {
  readonly type: string;
  readonly body: unknown;
  readonly ack: (answer?: object) => Promise<void>;
}

/**
 * Runs until the signal aborts. Connects again when Slack closes the connection, as it does every few hours.
 * @throws GatewayError as `failureOf` if a connection cannot be opened
 */
export async function listen(
  run: ChannelRun<Settings>,
  as: string,
  accept: Accept,
  context: SlackContext,
): Promise<void> {
  const { signal, report, alive } = run;
  const { client, addressOf } = await createClient(run, context);
  client.on("slack_event", ({ type, body, ack }: Envelope) => {
    alive();
    const done = isKind(type) ? accept(type, body) : Promise.resolve(undefined);
    done
      .then((answer) => ack(answer))
      .catch((err: unknown) => context.log.debug({ err, account: run.accountId }, "a delivery was not acknowledged"));
  });
  const onPong = (message: unknown) => {
    const { websocket } = message as { readonly websocket?: { readonly url?: unknown } }; // published by undici
    if (websocket?.url === addressOf()) alive();
  };
  channel(PONG).subscribe(onPong);
  try {
    while (!signal.aborted) {
      const gone = new Promise<void>((resolve) => client.once("disconnected", resolve));
      const late = () => `Slack did not confirm the connection within ${CONNECT_MS / 1_000} s`;
      await withDeadline({ ms: CONNECT_MS, clock: context.clock, signals: [signal], late }, (until) =>
        untilAborted(start(client), until),
      );
      report({ state: "connected", detail: as });
      await untilAborted(gone, signal);
      report({ state: "disconnected", detail: "the connection to Slack was lost; connecting again" });
      await pause(RECONNECT_MS, context.clock, signal);
    }
  } finally {
    channel(PONG).unsubscribe(onPong);
    await close(client, context);
  }
}

type Client = Awaited<ReturnType<typeof createClient>>["client"];

async function createClient({ settings, signal, accountId }: ChannelRun<Settings>, { log }: SlackContext) {
  const { SocketModeClient } = await library();

  /** The library does not catch errors of a message that it does not expect. */
  class Client extends SocketModeClient {
    protected override async onWebSocketMessage(data: string | ArrayBuffer, isBinary: boolean): Promise<void> {
      try {
        await super.onWebSocketMessage(data, isBinary);
      } catch (err) {
        log.warn({ err, account: accountId }, "a malformed Slack event was skipped");
      }
    }
  }

  const client = new Client({
    appToken: settings.appToken,
    // Its own reconnects leave a failed attempt as an unhandled rejection, and repeat a refused token for ever.
    autoReconnectEnabled: false,
    clientPingTimeout: settings.pingTimeoutMs,
    clientOptions: clientOptions(settings.apiUrl, signal),
    logger: QUIET,
  });
  let address: string | undefined;
  client.on(
    "authenticated",
    ({ url }: { readonly url?: string }) => (address = URL.canParse(url ?? "") ? new URL(url ?? "").href : undefined),
  );
  return { client, addressOf: () => address };
}

async function start(client: Client): Promise<void> {
  try {
    await client.start();
  } catch (error) {
    // The library rejects without an error if the connection is closed before Slack has confirmed it.
    if (error === undefined) unavailable("Slack closed the connection before it was ready");
    throw failureOf(error, "open a connection with the app token");
  }
}

/** Closes the connection: the second call does not wait for Slack, for which the library would wait 30 s. */
async function close(client: Client, { clock }: SlackContext): Promise<void> {
  const ending = new AbortController();
  const closed = client.disconnect().finally(() => ending.abort());
  await Promise.race([closed, pause(CLOSE_MS, clock, ending.signal)]);
  const forced = new AbortController();
  await Promise.race([client.disconnect().finally(() => forced.abort()), pause(CLOSE_MS, clock, forced.signal)]);
}

function isKind(type: string): type is DeliveryKind {
  return type === "events_api" || type === "interactive" || type === "slash_commands";
}
