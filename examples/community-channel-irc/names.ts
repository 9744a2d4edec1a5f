/** Names on IRC. Pure. */

/** Lower case by the rules of IRC: `[]\~` are the upper case of `{}|^`. */
export function fold(name: string): string {
  return name.toLowerCase().replace(/[[\]\\~]/g, (sign) => "{}|^"["[]\\~".indexOf(sign)] ?? sign);
}

/** A channel name, folded; `undefined` if it is not one. */
export function channelName(text: string): string | undefined {
  return /^[#&][^\s,:\p{Cc}]{1,99}$/u.test(text) ? fold(text) : undefined;
}

/** A nickname, folded; `undefined` if it is not one. */
export function nickName(text: string): string | undefined {
  return /^[A-Za-z[\]\\`_^{|}][A-Za-z0-9[\]\\`_^{|}-]{0,63}$/.test(text) ? fold(text) : undefined;
}

export function isChannel(name: string): boolean {
  return name.startsWith("#") || name.startsWith("&");
}

/**
 * Id of a sender: the services account if the server vouches for one, because nobody else can have it; otherwise nick,
 * user and host together, which is as reliable as the network. The two formats never collide: an account has no `!`.
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

/** The canonical form of such an id: only nicks and accounts use the case rules of IRC. */
export function foldPerson(id: string): string {
  const [nick = "", ...rest] = id.split("!");
  return [fold(nick), ...rest.map((part) => part.toLowerCase())].join("!");
}
