/** Version of the gateway that this page was built with. */
declare const VERSION: string;

/** Trusted types, where the browser has them. */
declare const trustedTypes:
  | {
      createPolicy(
        name: string,
        rules: { createScriptURL(url: string): string },
      ): { createScriptURL(url: string): unknown };
    }
  | undefined;

/** Style sheets are imported for the build, which links them. */
declare module "*.css";
