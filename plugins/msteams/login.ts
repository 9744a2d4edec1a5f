/** Login: checks id and secret of the bot with the login service. */
import { invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelAccount, ChannelLoginSteps } from "@svc/sdk/channels";
import { GUID, type Settings } from "./config.ts";
import type { TokenOf } from "./tokens.ts";

/** Path of the webhook of an account. */
export const routeOf = (accountId: string) => `/plugins/msteams/${accountId}/messages`;

const SECRET_HELP = "app registration: Certificates & secrets > New client secret; its value is shown once";
const TENANT_HELP = "Azure Bot: Configuration > App Tenant ID; leave it empty for a multi-tenant bot";
const FIELDS = [
  { key: "appId", label: "App id of the bot", help: "Azure Bot: Configuration > Microsoft App ID" },
  { key: "appPassword", label: "Client secret of the bot", help: SECRET_HELP, secret: true },
  { key: "tenantId", label: "Tenant id", help: TENANT_HELP, optional: true },
];

export function createLogin(tokenOf: TokenOf, accounts: readonly ChannelAccount<Settings>[]): ChannelLoginSteps {
  const message = "Create an Azure Bot in the Azure portal, and add the channel Microsoft Teams to it.";
  return {
    start: () => ({ kind: "form", message, fields: FIELDS }),

    async next({ accountId, answers, signal }) {
      const entered = FIELDS.map(({ key }) => [key, answers[key]?.trim() ?? ""] as const);
      const config: Partial<Settings> = Object.fromEntries(entered.filter(([, value]) => value !== ""));
      if (!GUID.test(config.appId ?? ""))
        invalidRequest("the app id is no id such as 12345678-9abc-def0-1234-56789abcdef0");
      if (!config.appPassword) invalidRequest("the client secret is missing; see Certificates & secrets");
      const { settings } = accounts.find(({ id }) => id === accountId) ?? accounts[0] ?? invalidRequest("no account");
      await tokenOf({ ...settings, ...config }, signal, true).catch((error: unknown) => {
        if (!isGatewayError(error) || error.code !== "NOT_LINKED") throw error;
        invalidRequest(error.message); // wrong values are a mistake, not an outage
      });
      const endpoint = `https://<address of this gateway>${routeOf(accountId)}`;
      return { kind: "done", message: `Logged in. Messaging endpoint of the Azure Bot: ${endpoint}`, config };
    },
  };
}
