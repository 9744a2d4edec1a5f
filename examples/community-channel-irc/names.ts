/** Names on IRC. Pure. */

/** Lower case as IRC has it: `[]\~` are the capitals of `{}|^`. */
export function fold(name: string): string {
  return name.toLowerCase().replace(/[[\]\\~]/g, (sign) => "{}|^"["[]\\~".indexOf(sign)] ?? sign);
}

/** A channel, folded; `undefined` for what is none. */
export function channelName(text: string): string | undefined {
  return /^[#&][^\s,:\p{Cc}]{1,99}$/u.test(text) ? fold(text) : undefined;
}

/** A nickname, folded; `undefined` for what is none. */
export function nickName(text: string): string | undefined {
  return /^[A-Za-z[\]\\`_^{|}][A-Za-z0-9[\]\\`_^{|}-]{0,63}$/.test(text) ? fold(text) : undefined;
}

export function isChannel(name: string): boolean {
  return name.startsWith("#") || name.startsWith("&");
}

/**
 * Who sent a message. The services account where the server vouches for one: nobody else can have it. Otherwise nick, user and
 * host together, which is as firm as the network makes it. The two can never look alike: an account has no `!`.
 */
export function personId(who: {
  readonly nick: string;
  readonly ident: string;
  readonly hostname: string;
  readonly account?: string | undefined;
}): string {
  const { nick, ident, hostname, account } = who;
  const isVouched = account !== undefined && account !== "" && account !== "*" && !account.includes("!");
  return foldPerson(isVouched ? `account:${account}` : `${nick}!${ident}@${hostname}`);
}

/** Such an id in its one spelling: only nicks and accounts have the capitals of IRC. */
export function foldPerson(id: string): string {
  const [nick = "", ...rest] = id.split("!");
  return [fold(nick), ...rest.map((part) => part.toLowerCase())].join("!");
}
