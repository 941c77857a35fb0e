(* JSON, strictly: no duplicate keys, nothing after the end. Numbers are kept as they are written. *)
type t =
  | Null
  | Bool of bool
  | Number of string
  | String of string
  | Array of t list
  | Object of (string * t) list

exception Malformed of string

let fail place what = raise (Malformed (Printf.sprintf "%s at %d" what place))

let utf8 buffer code =
  let add n = Buffer.add_char buffer (Char.chr n) in
  if code < 0x80 then add code
  else if code < 0x800 then (add (0xC0 lor (code lsr 6)); add (0x80 lor (code land 0x3F)))
  else (add (0xE0 lor (code lsr 12)); add (0x80 lor ((code lsr 6) land 0x3F)); add (0x80 lor (code land 0x3F)))

let parse text =
  let n = String.length text in
  let at = ref 0 in
  let peek () = if !at < n then text.[!at] else '\000' in
  let rec blank () = match peek () with ' ' | '\t' | '\n' | '\r' -> incr at; blank () | _ -> () in
  let expect c = if peek () = c then incr at else fail !at (Printf.sprintf "expected %c" c) in
  let word w value =
    if !at + String.length w <= n && String.sub text !at (String.length w) = w
    then (at := !at + String.length w; value) else fail !at "unknown word" in
  let string () =
    expect '"';
    let buffer = Buffer.create 16 in
    let rec go () =
      if !at >= n then fail !at "end in a string";
      match text.[!at] with
      | '"' -> incr at
      | '\\' ->
        incr at;
        (match peek () with
         | 'n' -> Buffer.add_char buffer '\n' | 't' -> Buffer.add_char buffer '\t'
         | 'r' -> Buffer.add_char buffer '\r' | 'b' -> Buffer.add_char buffer '\b'
         | 'f' -> Buffer.add_char buffer '\012'
         | ('"' | '\\' | '/') as c -> Buffer.add_char buffer c
         | 'u' when !at + 4 < n ->
           (match int_of_string_opt ("0x" ^ String.sub text (!at + 1) 4) with
            | Some code -> utf8 buffer code; at := !at + 4
            | None -> fail !at "bad escape")
         | _ -> fail !at "bad escape");
        incr at; go ()
      | c -> Buffer.add_char buffer c; incr at; go () in
    go (); Buffer.contents buffer in
  let number () =
    let start = !at in
    while (match peek () with '0' .. '9' | '-' | '+' | '.' | 'e' | 'E' -> true | _ -> false) do incr at done;
    if !at = start then fail start "unexpected character";
    Number (String.sub text start (!at - start)) in
  let rec value () =
    blank ();
    match peek () with
    | '{' -> incr at; Object (members [])
    | '[' -> incr at; Array (elements [])
    | '"' -> String (string ())
    | 't' -> word "true" (Bool true) | 'f' -> word "false" (Bool false) | 'n' -> word "null" Null
    | _ -> number ()
  and elements found =
    blank ();
    if found = [] && peek () = ']' then (incr at; [])
    else
      let found = value () :: found in
      blank ();
      if peek () = ',' then (incr at; elements found) else (expect ']'; List.rev found)
  and members found =
    blank ();
    if found = [] && peek () = '}' then (incr at; [])
    else
      let key = (blank (); string ()) in
      if List.mem_assoc key found then fail !at ("the key " ^ key ^ " twice");
      blank (); expect ':';
      let found = (key, value ()) :: found in
      blank ();
      if peek () = ',' then (incr at; members found) else (expect '}'; List.rev found) in
  let found = value () in
  blank ();
  if !at <> n then fail !at "something after the end";
  found

let get key = function
  | Object members -> (try List.assoc key members with Not_found -> raise (Malformed ("no " ^ key)))
  | _ -> raise (Malformed ("not an object: " ^ key))
let find key = function Object members -> List.assoc_opt key members | _ -> None
let items = function Array found -> found | _ -> raise (Malformed "not an array")
let members = function Object found -> found | _ -> raise (Malformed "not an object")
let text = function String found -> found | _ -> raise (Malformed "not a string")
let flag = function Bool found -> found | _ -> raise (Malformed "not a truth value")
let integer = function
  | Number written -> (match int_of_string_opt written with Some n -> n | None -> raise (Malformed "not an integer"))
  | _ -> raise (Malformed "not an integer")
