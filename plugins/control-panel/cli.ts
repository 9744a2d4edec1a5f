/** `svc dashboard`: a link that signs a browser in to the control panel. */
import { invalidRequest } from "@svc/sdk";
import { type AnnounceContext, type CommandContext, defineCommands, isTerminal, time } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { devices } from "@svc/sdk/devices";
import { detailsCode, GatewayError } from "@svc/sdk/errors";
import { panel } from "@svc/sdk/panel";
import { linkTo, pageOf, placeIn, type Place, tunnelTo, UNKNOWN_PLACE, wayAround } from "./cli-link.ts";
import { openPage } from "./cli-open.ts";

/** Minutes. The contract of `device.pair.invite` has the same bounds. */
const TTL = { least: 1, most: 60, usual: 15 } as const;

/** Of its lines at the start, as wide as those of the gateway's own lines. */
const LABEL = "panel".padEnd(11);

/** Modes in which no secret signs a browser in, and what does. */
const WITHOUT_SECRET: ReadonlyMap<string, string> = new Map([
  ["none", "No sign-in is needed: the gateway runs in mode none."],
  ["trusted-proxy", "Your proxy signs people in: open the same path at the address of the proxy."],
]);

export default defineCommands([
  {
    name: "dashboard",
    summary: "Open the control panel in the browser, signed in",
    options: [
      { flags: "--no-open", description: "only print the link" },
      {
        flags: "--ttl <minutes>",
        description: `minutes until the link expires, ${TTL.least} to ${TTL.most}`,
        default: String(TTL.usual),
      },
    ],
    help: [
      "The link signs one browser in, once, with your own rights. Whoever opens it first is signed in, so do not share it. On a machine with other users, pass --no-open: they can see the link in the process list while the browser starts.",
    ],
    examples: ["svc dashboard", "svc dashboard --no-open --ttl 5", "svc dashboard --url wss://gateway.example --json"],
    run: dashboard,
    announce,
  },
]);

/** The link and, if it contains a secret, the time until which it works. */
interface Link {
  readonly url: string;
  /** epoch ms */
  readonly expiresAtMs?: number;
}

async function dashboard(context: CommandContext): Promise<void> {
  const { options } = context;
  const { env } = process;
  const ttlMs = minutes(options["ttl"]) * 60_000;
  const { url: gateway } = await context.target();
  const client = await context.connect();
  const { authMode } = client.hello.snapshot;
  let link: Link;
  try {
    link = await signedIn(client, gateway, ttlMs);
  } finally {
    await client.close();
  }
  const mayOpen = options["open"] !== false && isTerminal(context.output);
  const opened = mayOpen && (await openPage(link.url, { platform: process.platform, env }));
  if (context.json) return context.print({ ...link, opened });
  const tunnel = tunnelTo(link.url, env);
  for (const line of [
    ...(tunnel ? ["You are connected over SSH. First, on your own computer:", `  ${tunnel}`, "Then open there:"] : []),
    link.url,
    WITHOUT_SECRET.get(authMode) ??
      `The link signs in one browser, once, within ${ttlMs / 60_000} minutes (until ${time(link.expiresAtMs ?? 0)}).`,
    ...wayAround(link.url),
    ...(opened ? ["It was opened in your browser."] : []),
  ])
    context.print(line);
}

/** @throws GatewayError the gateway serves no panel, or gives no invitations */
async function signedIn(client: GatewayClient, gateway: string, ttlMs: number): Promise<Link> {
  const { features, snapshot } = client.hello;
  if (!features.methods.includes(panel.pages.name)) throw withoutPlugin("serves no control panel", "control-panel");
  const { isServed, basePath } = await placeAt(client);
  if (!isServed)
    throw new GatewayError(
      "UNAVAILABLE",
      "this gateway serves no control panel: gateway.controlUi.enabled is false\nNext: svc config set gateway.controlUi.enabled true",
    );
  const page = pageOf(gateway, basePath);
  if (WITHOUT_SECRET.has(snapshot.authMode)) return { url: page };
  if (!features.methods.includes(devices.invite.name)) throw withoutPlugin("cannot sign browsers in", "devices");
  const { token, expiresAtMs } = await client.call(devices.invite, { ttlMs });
  return { url: linkTo(page, token), expiresAtMs };
}

function withoutPlugin(what: string, plugin: string): GatewayError {
  const why = `this gateway ${what}, because its plugin ${plugin} does not run`;
  return new GatewayError("UNAVAILABLE", `${why}\nNext: svc plugins why ${plugin}`);
}

/** Where the gateway serves the panel: at the default place if it does not say, or not to this caller. */
async function placeAt(client: GatewayClient): Promise<Place> {
  if (!client.hello.features.methods.includes(config.get.name)) return UNKNOWN_PLACE;
  try {
    return placeIn((await client.call(config.get, {})).config);
  } catch (error) {
    if (detailsCode(error) === "MISSING_SCOPE") return UNKNOWN_PLACE;
    throw error;
  }
}

function minutes(text: unknown): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= TTL.least && number <= TTL.most) return number;
  return invalidRequest(`--ttl ${String(text)}: must be a whole number of minutes from ${TTL.least} to ${TTL.most}`);
}

/** Lines of the start: with a link that signs in if only a person reads them. */
async function announce({ url, config: current, isTerminal: isRead, connect }: AnnounceContext): Promise<string[]> {
  const { isServed, basePath } = placeIn(current);
  if (!isServed) return [];
  const page = pageOf(url, basePath);
  const link = isRead ? await invited(page, connect).catch(() => undefined) : undefined;
  const [first = "", ...more] = link ?? [`${page}  (svc dashboard opens it, signed in)`];
  return [`${LABEL}${first}`, ...more.map((line) => " ".repeat(LABEL.length) + line)];
}

async function invited(page: string, connect: AnnounceContext["connect"]): Promise<string[]> {
  const client = await connect(["operator.admin"]);
  try {
    if (WITHOUT_SECRET.has(client.hello.snapshot.authMode)) return [page];
    const { token } = await client.call(devices.invite, { ttlMs: TTL.usual * 60_000 });
    const tunnel = tunnelTo(page, process.env);
    return [
      linkTo(page, token),
      ...(tunnel ? [`first, on your own computer: ${tunnel}`] : []),
      `(signs in one browser, once, within ${TTL.usual} minutes; svc dashboard makes a new link)`,
    ];
  } finally {
    await client.close();
  }
}
