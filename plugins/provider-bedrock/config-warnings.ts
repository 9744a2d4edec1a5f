/** Finds settings of Bedrock that cannot work. Pure. */
import { configuredServers } from "@svc/kit/providers";
import type { ConfigView, ConfigWarning } from "@svc/sdk";

export const BEDROCK = "bedrock-converse-stream";

export function unusableServers(view: ConfigView): ConfigWarning[] {
  return configuredServers(view, BEDROCK).flatMap(
    ({ baseUrl, baseUrlPath, authHeader, authHeaderPath }): ConfigWarning[] => {
      const warn = (at: string, message: string): ConfigWarning[] => [{ path: at, message, breaks: true }];
      if (authHeader === false) {
        return warn(authHeaderPath, "this API takes a key as Authorization only: remove authHeader");
      }
      if (baseUrl === undefined || !URL.canParse(baseUrl)) return [];
      const { hostname, pathname } = new URL(baseUrl);
      if (/^bedrock(?:-fips)?\./u.test(hostname)) {
        const message = `this is the control plane, which does not answer: use ${hostname.replace("bedrock", "bedrock-runtime")}`;
        return warn(baseUrlPath, message);
      }
      if (hostname.startsWith("bedrock-runtime") && pathname !== "/") {
        return warn(baseUrlPath, `the gateway adds the path of the API: use https://${hostname}`);
      }
      return [];
    },
  );
}
