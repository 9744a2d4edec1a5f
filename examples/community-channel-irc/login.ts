/** Login in one step: a form whose values are tried with the server. */
import { type Clock, invalidRequest, type Logger, unavailable, withDefaults } from "@svc/sdk";
import type { ChannelLoginSteps, ChannelReport } from "@svc/sdk/channels";
import { accountOf, IrcConfig } from "./config.ts";
import { connect } from "./connection.ts";

/** Milliseconds that the server may take to accept the connection. */
const LOGIN_MS = 30_000;

const FIELDS = [
  {
    key: "host",
    label: "Server",
    help: "Host of the IRC server, e.g. irc.libera.chat. For a server without TLS, write irc://host:port.",
  },
  { key: "nick", label: "Nick", help: "The agent's name on the network. Default: svc", optional: true },
  { key: "password", label: "Password", help: "Password of the server, if it has one", secret: true, optional: true },
] as const;

/** @param config the current settings, which the entered values override; the logins are those of the same host */
export function loginSteps(
  config: IrcConfig,
  context: { readonly clock: Clock; readonly log: Logger },
): ChannelLoginSteps {
  return {
    start: () => ({ kind: "form", message: "Connect to an IRC server.", fields: FIELDS }),

    async next({ answers, signal }) {
      const { host: given = "", nick, password } = answers;
      const [, scheme, host = given, port] = /^(?:(ircs?):\/\/)?([^:/\s]+)(?::(\d{1,5}))?\/?$/.exec(given) ?? [];
      // `undefined` removes a key. Nothing that belongs to another server is sent to this one, or accepted of it.
      const entered = {
        ...(host === config.host ? {} : { sasl: undefined, password: undefined, tlsVerify: true }),
        host,
        tls: scheme !== "irc",
        port: port === undefined ? undefined : Number(port),
        ...(nick ? { nick } : {}),
        ...(password ? { password } : {}),
      };
      const { settings } = accountOf(withDefaults(IrcConfig, { ...config, ...entered }));
      const trial = new AbortController();
      const cancel = context.clock.setTimeout(() => trial.abort(), LOGIN_MS);
      signal.addEventListener("abort", () => trial.abort(), { once: true });
      let last: ChannelReport = { state: "connecting" };
      const run = {
        accountId: "login",
        settings: { ...settings, channels: [] },
        commands: [],
        signal: trial.signal,
        receive: () => Promise.resolve({ accepted: false, reason: "not-allowed" } as const),
        report(report: ChannelReport) {
          last = report;
          if (report.state === "connected") trial.abort();
        },
        alive: () => undefined,
      };
      try {
        await (await connect(run, context)).live();
      } catch (error) {
        if (last.state === "needs-login") invalidRequest(last.detail ?? "the server refused the login");
        unavailable(`${entered.host} cannot be reached: ${error instanceof Error ? error.message : "no answer"}`);
      } finally {
        cancel();
      }
      if (last.state !== "connected") unavailable(`${entered.host} did not answer within ${LOGIN_MS / 1_000} seconds`);
      return { kind: "done", message: `Connected to ${entered.host} ${last.detail ?? ""}`.trim(), config: entered };
    },
  };
}
