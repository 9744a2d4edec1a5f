/** Security checks of model servers. Pure. */
import {
  configAt,
  defineSecurityChecks,
  entriesOf,
  isClearAddress,
  setCommand,
  type SettingPath,
  settingText,
} from "@svc/sdk/cli";

/** A key that holds an address. */
type Place = readonly [path: SettingPath, url: unknown];

export default defineSecurityChecks([
  {
    id: "models.plain-http",
    severity: "critical",
    why: "Anyone on the network can read the key and all prompts, and can forge answers.",
    find: ({ config }) =>
      entriesOf(configAt(config, "models.providers")).flatMap(([name, provider]) => {
        const own: SettingPath = ["models", "providers", name];
        const accounts = entriesOf(provider["accounts"]).map(([at, { baseUrl }]): Place => [
          [...own, "accounts", Number(at), "baseUrl"],
          baseUrl,
        ]);
        const places: readonly Place[] = [[[...own, "baseUrl"], provider["baseUrl"]], ...accounts];
        if (!hasKey(provider)) return [];
        return places.flatMap(([path, url]) =>
          isClearAddress(url)
            ? [
                {
                  about: settingText(path),
                  message: `The key of ${name} is sent over the network without TLS.`,
                  fix: setCommand(path, withTls(url)),
                },
              ]
            : [],
        );
      }),
  },
]);

function hasKey({ apiKey, accounts, headers }: Readonly<Record<string, unknown>>): boolean {
  return apiKey !== undefined || accounts !== undefined || Object.keys(Object(headers) as object).length > 0;
}

/** The address with https, and without user name, password and query, which may be secrets. */
function withTls(url: string): string {
  const { host, pathname } = new URL(url);
  return `https://${host}${pathname}`;
}
