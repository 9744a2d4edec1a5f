/** Login of an account in typed steps: the same for a terminal, a web page and a wizard. Plain data. */

/** One value to enter. */
export interface LoginField {
  readonly key: string;
  readonly label: string;
  /** Where people find the value. */
  readonly help?: string;
  /** Not shown while it is entered. Default false. */
  readonly secret?: boolean;
  /** Default false. */
  readonly optional?: boolean;
}

/** One step of a login. `state` is returned with the next call, and is not shown. */
export type LoginStep =
  /** Ask for these values, then call `next` with them. */
  | {
      readonly kind: "form";
      readonly message: string;
      readonly fields: readonly LoginField[];
      readonly state?: unknown;
    }
  /**
   * Show a link or QR code (`qr`: its content), then call `next`, which waits until it was used. `next` returns another `show`
   * with a new code when the old one expired; `expiresInMs`: how long the code is valid, for a countdown.
   */
  | {
      readonly kind: "show";
      readonly message: string;
      readonly url?: string;
      readonly qr?: string;
      readonly expiresInMs?: number;
      readonly state?: unknown;
    }
  /** The network accepted the login. `config`: keys to write below `channels.<id>`, or below the account; `undefined` removes one. */
  | { readonly kind: "done"; readonly message: string; readonly config?: Readonly<Record<string, unknown>> };

/** Values that the steps of a login work with. */
export interface LoginCall {
  readonly accountId: string;
  /** `ChannelAccount.settings`, also of an account that is not configured yet; absent for one that the channel does not list. */
  readonly settings?: unknown;
  /** Aborts when the person cancels, or the plugin `channels` stops. */
  readonly signal: AbortSignal;
}

/** The steps of a login. They check the values with the network before `done`. */
export interface ChannelLoginSteps {
  start(login: LoginCall): LoginStep | Promise<LoginStep>;
  /**
   * @param answers entered values by key; empty after `show`
   * @throws GatewayError `INVALID_REQUEST`: the network refuses the values, with the cause; `UNAVAILABLE`: the network
   *   cannot be reached
   */
  next(
    login: LoginCall & { readonly state: unknown; readonly answers: Readonly<Record<string, string>> },
  ): Promise<LoginStep>;
}
