/** Login: links the gateway as a device of an account, by a QR code. Logout and probe. */
import { isAddress, trimmedAddress } from "@svc/kit/channels";
import {
  type Clock,
  GatewayError,
  invalidRequest,
  isGatewayError,
  matches,
  messageOf,
  type Static,
  Type,
} from "@svc/sdk";
import type { ChannelCall, ChannelLoginSteps, LoginStep, LogoutReceipt } from "@svc/sdk/channels";
import { ACCOUNT, type Settings } from "./config.ts";
import type { Daemons } from "./daemon.ts";
import { rpcCodeOf } from "./refusals.ts";
import { Account, ask, isAccount, listAccounts, type Request } from "./rpc.ts";

/** Name of the gateway in the list of linked devices. */
const DEVICE = "svc gateway";
/** Milliseconds to wait for somebody who scans the code; Signal closes the link earlier. */
const SCAN_MS = 300_000;

const State = Type.Object({ deviceLinkUri: Type.String({ minLength: 1 }), url: Type.String() });
type State = Static<typeof State>;

interface LoginSources {
  readonly clock: Pick<Clock, "setTimeout" | "now">;
  readonly daemons: Daemons;
}

/** @param settingsOf settings of an account, also of a new one */
export function createLogin(
  { clock, daemons }: LoginSources,
  settingsOf: (accountId: string) => Settings,
): ChannelLoginSteps {
  return {
    start: ({ accountId }) => ({
      kind: "form",
      message: "Link the gateway to an account on Signal, through signal-cli.",
      fields: [
        {
          key: "url",
          label: "Address of signal-cli",
          help: `a running daemon, e.g. http://127.0.0.1:8080; leave it empty for ${settingsOf(accountId).url ?? "one that the gateway starts (signal-cli must be installed)"}`,
          optional: true,
        },
        {
          key: "account",
          label: "Phone number of the account",
          help: "as +4915112345678, if signal-cli has the account already; leave it empty to link the gateway with your phone",
          optional: true,
        },
      ],
    }),

    async next({ accountId, state, answers, signal }) {
      const shown = matches(State, state) ? state : undefined;
      const entered = shown ?? { url: trimmedAddress(answers["url"]?.trim() ?? "") };
      const account = answers["account"]?.replace(/[\s().]/g, "") ?? "";
      if (entered.url !== "" && !isAddress(entered.url))
        invalidRequest("the address of signal-cli is not valid; next: write it as http://127.0.0.1:8080");
      if (account !== "" && !ACCOUNT.test(account))
        invalidRequest("the phone number is not valid; next: write it with its country code, as +4915112345678");
      const { url: configured, ...settings } = settingsOf(accountId);
      const url = entered.url || configured;
      const program = url === undefined ? settings : { ...settings, url };
      try {
        return await daemons.use(program, signal, (address) => {
          const request = { url: address, clock, signal };
          return shown ? finish(request, shown) : begin(request, entered.url, account);
        });
      } catch (error) {
        // A missing program is the mistake of the person.
        if (!isGatewayError(error) || error.code !== "NOT_LINKED") throw error;
        throw new GatewayError("INVALID_REQUEST", error.message);
      }
    },
  };
}

async function begin(request: Request, url: string, account: string): Promise<LoginStep> {
  const accounts = account === "" ? [] : await listAccounts(request);
  const isThere = accounts?.some((one) => isAccount(one, account)) ?? true;
  return isThere ? done(account, url) : show(request, url);
}

/** @param before why the last code did not work */
async function show(request: Request, url: string, before = ""): Promise<LoginStep> {
  const { deviceLinkUri } = await ask(request, "startLink", {}, Type.Pick(State, ["deviceLinkUri"]));
  const message = `${before}In Signal on your phone: Settings > Linked devices > Link new device, and scan this code.`;
  return { kind: "show", message, qr: deviceLinkUri, state: { deviceLinkUri, url } satisfies State };
}

async function finish(request: Request, { deviceLinkUri, url }: State): Promise<LoginStep> {
  const params = { deviceLinkUri, deviceName: DEVICE };
  try {
    const { number, aci } = await ask({ ...request, ms: SCAN_MS }, "finishLink", params, Account);
    return done(number ?? aci ?? invalidRequest("signal-cli does not tell the linked account; next: update it"), url);
  } catch (error) {
    // Mostly the code has expired; the daemon has one error code for that and for everything else, and the person reads why.
    if (![-1, -3].some((code) => code === rpcCodeOf(error))) throw error;
    return show(request, url, `The last code was not used: ${messageOf(error)}. `);
  }
}

function done(account: string, url: string): LoginStep {
  const config = { account, ...(url === "" ? {} : { url }) };
  return { kind: "done", message: `The gateway uses the account ${account}.`, config };
}

/** Deletes the keys of a program that the gateway starts. Any other daemon belongs to somebody else. */
export async function logout(
  { settings, signal }: ChannelCall<Settings>,
  daemons: Pick<Daemons, "command">,
): Promise<LogoutReceipt> {
  if (settings.url !== undefined) return { cleared: false };
  await daemons.command(settings, ["-a", settings.account, "deleteLocalAccountData", "--ignore-registered"], signal);
  return { cleared: true, loggedOut: false };
}

/** Version of signal-cli, and whether it has the account. @throws GatewayError as `ask` */
export async function probe(
  { settings, signal }: ChannelCall<Settings>,
  { clock, daemons }: LoginSources,
): Promise<object> {
  const request = { url: daemons.urlOf(settings), clock, signal };
  const { version } = await ask(request, "version", {}, Type.Object({ version: Type.String() }));
  const accounts = await listAccounts(request);
  const ok = accounts?.some((one) => isAccount(one, settings.account)) ?? true;
  return { ok, version, ...(ok ? {} : { hint: "signal-cli does not have the account: svc channels login signal" }) };
}
