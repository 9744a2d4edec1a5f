/** Login: checks id and secret of the bot with the login service. */
import { GatewayError, invalidRequest, isGatewayError } from "@svc/sdk";
import type { ChannelLoginSteps } from "@svc/sdk/channels";
import { GUID } from "./config.ts";
import type { Login, TokenOf } from "./tokens.ts";

/** Path of the webhook of an account. */
export const routeOf = (accountId: string) => `/plugins/msteams/${accountId}/messages`;

/** @param settingsOf settings of an account, also of a new one */
export function createLogin(
  tokenOf: TokenOf,
  settingsOf: (accountId: string) => Pick<Login, "loginUrl" | "pingMs">,
): ChannelLoginSteps {
  return {
    start: () => ({
      kind: "form",
      message: "Create an Azure Bot in the Azure portal, and add the channel Microsoft Teams to it.",
      fields: [
        { key: "appId", label: "App id of the bot", help: "Configuration of the Azure Bot: Microsoft App ID" },
        {
          key: "appPassword",
          label: "Client secret of the bot",
          help: "app registration: Certificates & secrets > New client secret; the column Value, which is shown once",
          secret: true,
        },
        {
          key: "tenantId",
          label: "Tenant id",
          help: "Configuration of a single-tenant Azure Bot: App Tenant ID; leave it empty for a multi-tenant bot",
          optional: true,
        },
      ],
    }),

    async next({ accountId, answers, signal }) {
      const [appId = "", appPassword = "", tenantId = ""] = ["appId", "appPassword", "tenantId"].map((key) =>
        answers[key]?.trim(),
      );
      if (!GUID.test(appId)) invalidRequest("the app id is not an id such as 12345678-9abc-def0-1234-56789abcdef0");
      if (appPassword === "") invalidRequest("the client secret is missing; see Certificates & secrets");
      const config = { appId, appPassword, ...(tenantId === "" ? {} : { tenantId }) };
      await tokenOf({ ...settingsOf(accountId), ...config }, signal, true).catch((error: unknown) => {
        if (!isGatewayError(error) || error.code !== "NOT_LINKED") throw error;
        throw new GatewayError("INVALID_REQUEST", error.message); // wrong values are the mistake of the person, not an outage
      });
      const path = routeOf(accountId);
      return {
        kind: "done",
        message: `Microsoft accepts the login. Enter https://<address of this gateway>${path} as messaging endpoint of the Azure Bot.`,
        config,
      };
    },
  };
}
