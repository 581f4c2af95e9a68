use super::*;

#[test]
fn every_place_is_filled_and_what_is_filled_in_is_left_alone() {
    let values = [("X", "@Y@"), ("Y", "")];
    assert_eq!(filled("a@v5 @X@ b@Y@\n@X@@", &values), "a@v5 @Y@ b\n@Y@@");
    for (template, values) in [("@X@", &[][..]), ("x", &[("X", "1")])] {
        let values = values.to_vec();
        assert!(std::panic::catch_unwind(move || filled(template, &values)).is_err());
    }
}

#[test]
fn yaml_has_every_value_as_it_was_and_keeps_its_comment() {
    let template =
        "# Why.\na: \"@N@\"\n\"@S@\": [\"@N@\", x@N@]\nb: \"@NONE@\"\nrun: |\n  echo @S@\n";
    // Each is something else in YAML, unless it is quoted.
    for text in [
        "a: b",
        "a #b",
        "- a",
        "true",
        "1e3",
        "~",
        "{a",
        "it's \"a\"",
        "\ta\t",
        " a ",
        "é",
        "%a",
        "!t",
    ] {
        let values = [("N", Value::from(7)), ("S", Value::from(text)), ("NONE", Value::Null)];
        let written = yaml(template, &values);
        assert!(written.starts_with("# Why.\na: 7\n"), "{written}");
        let read: Value = serde_yaml::from_str(&written).expect("YAML");
        assert_eq!(read[text][1], Value::from("x7"), "{written}");
        assert_eq!(read["run"], Value::from(format!("echo {text}\n")), "{written}");
        assert!(read.get("b").is_none(), "{written}");
    }
}

#[test]
fn what_ends_a_line_or_acts_on_a_terminal_is_refused() {
    for bad in ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{1b}", "\u{7f}", "\0"] {
        assert!(one_line(format!("a{bad}b").as_ref()).is_err(), "{bad:?}");
    }
    for good in ["", "a b", "a\tb", "é", "-x", "it's"] {
        assert_eq!(one_line(good.as_ref()), Ok(good.to_owned()));
    }
    let paths = ["-x", "a=b", "/a/b", "Bob's folder", "-a=b"].map(path);
    assert_eq!(paths, ["./-x", "'a=b'", "/a/b", r"'Bob'\''s folder'", "'./-a=b'"]);
}

#[test]
fn a_shell_reads_words_as_they_were() {
    let words = ["plain-1.5", "", "two words", "it's", "$HOME `x` \\ \"", "^a|b$"];
    let line = format!("printf '%s\\n'{}", appended(&words.map(str::to_owned)));
    let output = std::process::Command::new("sh").arg("-c").arg(&line).output();
    let output = output.expect("sh runs");
    assert_eq!(String::from_utf8(output.stdout).expect("text"), words.join("\n") + "\n");
}
